import { createHash } from 'node:crypto';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';
import fastify from 'fastify';
import type { ProblemSlug, ProblemType } from '#platform/http';
import { html, type Html } from '../html.js';
import { pageShell } from './page-shell.js';

/** Hides all samples but curl and Python's requests, beside the document's own in TypeScript. */
const HIDDEN_CLIENTS = {
  ...Object.fromEntries(
    'c clojure csharp dart fsharp go http java js julia kotlin node objc ocaml php powershell r ruby rust swift'
      .split(' ')
      .map((language) => [language, true]),
  ),
  shell: ['httpie', 'wget'],
  python: ['aiohttp', 'httpx_async', 'httpx_sync', 'python3'],
};

/** The page that the renderer fills in. It loads nothing from other hosts and sends nothing to them. */
const CONFIGURATION = {
  agent: { disabled: true },
  mcp: { disabled: true },
  telemetry: false,
  proxyUrl: '',
  withDefaultFonts: false,
  hideClientButton: true,
  showDeveloperTools: 'never',
  defaultOpenFirstTag: false,
  hiddenClients: HIDDEN_CLIENTS,
  authentication: { preferredSecurityScheme: 'apiKey' },
  defaultHttpClient: { targetKey: 'shell', clientKey: 'curl' },
};

/** The API reference of the document at /openapi.json. */
export function referencePage(title: string, renderer: string): string {
  return html`<!doctype html>
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width, initial-scale=1" />
        <title>${title}</title>
      </head>
      <body>
        <h1 hidden>${title}</h1>
        <noscript>
          The reference needs JavaScript. The <a href="/openapi.json">OpenAPI document</a> and the
          <a href="/docs">guides</a> do not.
        </noscript>
        <script
          id="api-reference"
          data-url="/openapi.json"
          data-configuration="${JSON.stringify(CONFIGURATION)}"
        ></script>
        <script src="/docs/reference/${renderer}.js"></script>
      </body>
    </html> `.toString();
}

/** The script that renders the reference in the browser. */
export interface Renderer {
  /** Changes with its content. */
  readonly name: string;
  readonly plain: Buffer;
  readonly gzipped: Buffer;
}

const compress = promisify(gzip);

/**
 * Scalar's API reference. Only a route of its Fastify plugin returns the 4 MB script of its package, so it is requested
 * once, when somebody opens the reference.
 */
export async function loadRenderer(): Promise<Renderer> {
  const { default: scalar } = await import('@scalar/fastify-api-reference');
  const server = fastify();
  await server.register(scalar, { routePrefix: '/reference', configuration: { url: '/openapi.json' } });
  const { rawPayload: plain } = await server.inject('/reference/js/scalar.js');
  await server.close();
  const name = createHash('sha256').update(plain).digest('base64url').slice(0, 16);
  return { name, plain, gzipped: await compress(plain) };
}

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
