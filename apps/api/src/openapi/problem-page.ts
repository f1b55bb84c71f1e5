import type { ProblemSlug, ProblemType } from '#platform/http';
import { html, type Html } from '../html.js';
import { pageShell } from './page-shell.js';

/** The page that a problem's `type` leads to (RFC 9457 §3.1.1). */
export function problemPage(slug: ProblemSlug, { status, title, description, remedy }: ProblemType): string {
  return pageShell(
    `${title} – Mailwright API`,
    html`<main>
      <p class="quiet"><code>${slug}</code>, status ${status}</p>
      <h1>${title}</h1>
      <p>${withCode(description)}</p>
      <h2>What to do</h2>
      <p>${withCode(remedy)}</p>
      <p><a href="/docs/api#errors">All problems</a></p>
    </main>`,
  );
}

/** Text with code between backquotes. */
function withCode(text: string): Html {
  return html`${text.split('`').map((piece, index) => (index % 2 === 1 ? html`<code>${piece}</code>` : piece))}`;
}
