/** A fenced block of a page. */
export interface CodeSample {
  readonly page: string;
  /** Number of its first line of code, from 1. */
  readonly line: number;
  readonly language: string;
  /** Why the tests leave it out, as its info string says; null when they run it. */
  readonly notRunBecause: string | null;
  readonly code: string;
}

const INFO = /^(?<language>[\w-]*)(?: no-run(?:: (?<reason>[^`]+))?)?$/;

/** The fenced blocks of a page (CommonMark §4.5), in order. Their info string is `bash`, or `bash no-run: why`. */
export function samplesOf(page: string, markdown: string): CodeSample[] {
  const samples: CodeSample[] = [];
  let open: { line: number; info: string; code: string[] } | null = null;
  for (const [index, line] of markdown.split('\n').entries()) {
    if (open === null) {
      if (line.startsWith('```')) open = { line: index + 2, info: line.slice(3).trim(), code: [] };
    } else if (line === '```') {
      samples.push(sampleOf(page, open));
      open = null;
    } else open.code.push(line);
  }
  if (open !== null) throw new Error(`${page}:${open.line} begins a block that does not end.`);
  return samples;
}

function sampleOf(page: string, block: { line: number; info: string; code: string[] }): CodeSample {
  const groups = INFO.exec(block.info)?.groups;
  const isLeftOut = block.info.includes(' no-run');
  if (groups === undefined || (isLeftOut && groups['reason'] === undefined))
    throw new Error(`${page}:${block.line} has an info string without a meaning: ${block.info}`);
  return {
    page,
    line: block.line,
    language: groups['language'] ?? '',
    notRunBecause: groups['reason'] ?? null,
    code: `${block.code.join('\n')}\n`,
  };
}
