import type { ProblemSlug, ProblemType } from '#platform/http';
import { html } from '../public-pages/html.js';
import { pageShell } from './page-shell.js';
import { inline } from './prose.js';

/** The page that a problem's `type` leads to (RFC 9457 §3.1.1). */
export function problemPage(slug: ProblemSlug, { status, title, description, remedy }: ProblemType): string {
  return pageShell(
    `${title} – Mailwright API`,
    html`<main>
      <p class="quiet"><code>${slug}</code>, status ${status}</p>
      <h1>${title}</h1>
      <p>${inline(description)}</p>
      <h2>What to do</h2>
      <p>${inline(remedy)}</p>
      <p><a href="/docs/reference#problems">All problems</a></p>
    </main>`,
  );
}
