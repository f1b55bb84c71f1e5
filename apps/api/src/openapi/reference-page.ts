import { PROBLEM_TYPES } from '#platform/http';
import { html, type Html } from '../public-pages/html.js';
import { type OpenApiDocument, operationsOf } from './document.js';
import { operationSection } from './operation-section.js';
import { pageShell } from './page-shell.js';
import { prose } from './prose.js';

/** The API reference: every operation of the document, by tag. */
export function referencePage(document: OpenApiDocument): string {
  const operations = operationsOf(document);
  const tags = [...new Set(operations.map(({ operation }) => operation.tags?.[0] ?? 'Other'))].sort();
  const ofTag = (tag: string) =>
    operations.filter(({ operation }) => (operation.tags?.[0] ?? 'Other') === tag);
  const sections = tags.map(
    (tag) =>
      html`<h2 id="${anchorOf(tag)}">${tag}</h2>
        ${ofTag(tag).map(({ path, method, operation }) => operationSection(document, path, method, operation))}`,
  );
  return pageShell(
    document.info.title,
    html`<main>
      <h1>${document.info.title}</h1>
      ${prose(document.info.description ?? '')}
      <p>
        Fields marked with * are required, in an answer: always present. The same as a document for programs:
        <a href="/openapi.json">openapi.json</a> (OpenAPI ${document.openapi}).
      </p>
      <nav id="pages" aria-label="Contents">
        <ul>
          ${tags.map((tag) => html`<li><a href="#${anchorOf(tag)}">${tag}</a> <span class="quiet">${ofTag(tag).length}</span></li>`)}
          <li><a href="#problems">Problems</a></li>
        </ul>
      </nav>
      ${sections} ${problemList()}
    </main>`,
  );
}

function problemList(): Html {
  const rows = Object.entries(PROBLEM_TYPES).map(
    ([slug, { status, title }]) =>
      html`<tr>
        <td>${status}</td>
        <td>
          <a href="/problems/${slug}"><code>${slug}</code></a>
        </td>
        <td>${title}</td>
      </tr>`,
  );
  return html`<h2 id="problems">Problems</h2>
    <div class="wide">
      <table>
        <tr>
          <th>Status</th>
          <th>Type</th>
          <th>Title</th>
        </tr>
        ${rows}
      </table>
    </div>`;
}

function anchorOf(tag: string): string {
  return tag.toLowerCase().replaceAll(/[^a-z0-9]+/g, '-');
}
