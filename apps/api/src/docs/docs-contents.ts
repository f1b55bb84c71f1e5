export interface DocsEntry {
  /** Its path below /docs: `quickstart`, `relays/ses`. */
  readonly name: string;
  /** Whether it is a page made from Markdown, which the reference is not. */
  readonly isMarkdown: boolean;
  readonly title: string;
  readonly summary: string;
}

export interface DocsSection {
  readonly title: string;
  readonly entries: readonly DocsEntry[];
}

export interface DocsContents {
  readonly title: string;
  readonly summary: string;
  readonly sections: readonly DocsSection[];
}

const ENTRY =
  /^- \[(?<title>[^\]]+)\]\(\/docs\/(?<name>[a-z-]+(?:\/[a-z-]+)?)(?<markdown>\.md)?\): (?<summary>.+)$/;

/** Reads llms.txt (https://llmstxt.org), from which the navigation is made too. */
export function readContents(text: string): DocsContents {
  const [head = '', ...sections] = text.split(/^## /m);
  const [, title = ''] = /^# (.+)$/m.exec(head) ?? [];
  const [, summary = ''] = /^> ([^]+?)\n\n/m.exec(head) ?? [];
  return { title, summary: summary.replaceAll(/\n> ?/g, ' ').trim(), sections: sections.map(readSection) };
}

function readSection(text: string): DocsSection {
  const [title = '', ...lines] = text.split('\n');
  const entries = lines
    .filter((line) => line.startsWith('- '))
    .map((line) => {
      const { title: name, summary, markdown, name: slug } = ENTRY.exec(line)?.groups ?? {};
      if (name === undefined || slug === undefined || summary === undefined)
        throw new Error(`llms.txt has a line without a link to a page: ${line}`);
      return { name: slug, isMarkdown: markdown !== undefined, title: name, summary };
    });
  return { title, entries };
}
