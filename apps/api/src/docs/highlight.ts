import { createRequire } from 'node:module';
import { Html, html } from '../html.js';

/** The parts of highlight.js that are used: its own declarations bring the types of browsers, which contradict those of Node. */
interface Highlighter {
  registerLanguage(name: string, grammar: unknown): void;
  getLanguage(name: string): unknown;
  highlight(code: string, options: { language: string; ignoreIllegals: boolean }): { readonly value: string };
}

const require = createRequire(import.meta.url);
const hljs = require('highlight.js/lib/core') as Highlighter;

const GRAMMARS = ['bash', 'http', 'json', 'php', 'python', 'ruby', 'sql', 'typescript', 'xml', 'yaml'];
for (const name of GRAMMARS) hljs.registerLanguage(name, require(`highlight.js/lib/languages/${name}`));

/** Captions of blocks, by the language of their fence. */
const CAPTIONS: Readonly<Record<string, string>> = {
  bash: 'Terminal',
  sh: 'Terminal',
  curl: 'curl',
  ts: 'TypeScript',
  tsx: 'TypeScript',
  typescript: 'TypeScript',
  js: 'JavaScript',
  json: 'JSON',
  http: 'HTTP',
  python: 'Python',
  ruby: 'Ruby',
  php: 'PHP',
  sql: 'SQL',
  html: 'HTML',
  yaml: 'YAML',
  mermaid: 'Diagram, as Mermaid',
};

/** Names of languages that highlight.js has under another one. */
const GRAMMAR_OF: Readonly<Record<string, string>> = { curl: 'bash' };

/** A block of code in the colours of its language. Its text is escaped by highlight.js. */
export function codeBlock(code: string, language = '', caption = captionOf(language)): Html {
  const grammar = GRAMMAR_OF[language] ?? language;
  const shown =
    hljs.getLanguage(grammar) === undefined
      ? html`${code}`
      : new Html([hljs.highlight(code, { language: grammar, ignoreIllegals: true }).value], []);
  const title = caption === '' ? null : html`<p class="caption">${caption}</p>`;
  return html`<div class="code">
    ${title}
    <pre tabindex="0"><code>${shown}</code></pre>
  </div> `;
}

export function captionOf(language: string): string {
  return CAPTIONS[language] ?? '';
}

/** Languages in which the same is written side by side. */
const ALTERNATIVES = new Set(['Terminal', 'curl', 'TypeScript', 'JavaScript', 'Python', 'Ruby', 'PHP']);

/** True for blocks that do the same in different languages: one of them is shown at a time. */
export function areAlternatives(languages: readonly string[]): boolean {
  const captions = languages.map(captionOf);
  return (
    captions.length > 1 &&
    new Set(captions).size === captions.length &&
    captions.every((caption) => ALTERNATIVES.has(caption))
  );
}
