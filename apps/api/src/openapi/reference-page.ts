import { html } from '../html.js';

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
