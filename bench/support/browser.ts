import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Shot {
  /** In CSS pixels; the height is the page's own. */
  readonly width: number;
  readonly scheme: 'light' | 'dark';
  /** Where the picture ends, when the page is longer; CSS pixels. */
  readonly most?: number;
}

interface Answer {
  readonly id: number;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

const START_MS = 20_000;

/** A headless Chromium that makes pictures of pages, spoken to by the DevTools protocol. */
export class Browser {
  #id = 0;
  readonly #open = new Map<number, PromiseWithResolvers<Record<string, unknown>>>();

  private constructor(
    private readonly program: ChildProcess,
    private readonly directory: string,
    private readonly socket: WebSocket,
  ) {
    socket.addEventListener('message', ({ data }) => this.#answered(JSON.parse(String(data)) as Answer));
  }

  static async start(chromium: string): Promise<Browser> {
    const directory = await mkdtemp(join(tmpdir(), 'mailwright-browser-'));
    const program = spawn(
      chromium,
      [
        '--headless',
        '--no-sandbox',
        '--disable-gpu',
        '--hide-scrollbars',
        '--remote-debugging-port=0',
        `--user-data-dir=${directory}`,
        'about:blank',
      ],
      { stdio: ['ignore', 'ignore', 'pipe'] },
    );
    const browser = await addressOf(program);
    const { host } = new URL(browser);
    const targets = (await (await fetch(`http://${host}/json/list`)).json()) as {
      type: string;
      webSocketDebuggerUrl: string;
    }[];
    const target = targets.find(({ type }) => type === 'page');
    if (target === undefined) throw new Error('Chromium shows no page.');
    const socket = new WebSocket(target.webSocketDebuggerUrl);
    await once(socket, 'open');
    return new Browser(program, directory, socket);
  }

  /** The page as a PNG, as high as it is, or as `most` says. */
  async shoot(html: string, { width, scheme, most = Infinity }: Shot): Promise<Buffer> {
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#call('Emulation.setEmulatedMedia', { features });
    await this.#sized(width, 600);
    await this.#show(html);
    const { cssContentSize } = (await this.#call('Page.getLayoutMetrics')) as {
      cssContentSize: { height: number };
    };
    await this.#sized(width, Math.min(most, Math.ceil(cssContentSize.height)));
    const { data } = await this.#call('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(String(data), 'base64');
  }

  /** How wide the content is: more than the page when it must be scrolled sideways. */
  async widthOf(html: string, width: number): Promise<number> {
    await this.#sized(width, 600);
    await this.#show(html);
    const { result } = (await this.#call('Runtime.evaluate', {
      expression: 'document.documentElement.scrollWidth',
    })) as { result: { value: number } };
    return result.value;
  }

  /** As it is printed on A4. */
  async print(html: string): Promise<Buffer> {
    await this.#show(html);
    const { data } = await this.#call('Page.printToPDF', { paperWidth: 8.27, paperHeight: 11.69 });
    return Buffer.from(String(data), 'base64');
  }

  async stop(): Promise<void> {
    const ended = once(this.program, 'exit');
    this.program.kill();
    await ended;
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #show(html: string): Promise<void> {
    const { frameTree } = (await this.#call('Page.getFrameTree')) as { frameTree: { frame: { id: string } } };
    await this.#call('Page.setDocumentContent', { frameId: frameTree.frame.id, html });
  }

  async #sized(width: number, height: number): Promise<void> {
    const size = { width, height, deviceScaleFactor: 1, mobile: false };
    await this.#call('Emulation.setDeviceMetricsOverride', size);
  }

  #call(method: string, params: object = {}): Promise<Record<string, unknown>> {
    this.#id += 1;
    const answer = Promise.withResolvers<Record<string, unknown>>();
    this.#open.set(this.#id, answer);
    this.socket.send(JSON.stringify({ id: this.#id, method, params }));
    return answer.promise;
  }

  #answered({ id, result, error }: Answer): void {
    if (error === undefined) this.#open.get(id)?.resolve(result ?? {});
    else this.#open.get(id)?.reject(new Error(error.message));
    this.#open.delete(id);
  }
}

/** Chromium tells on its error output where it listens. */
async function addressOf(program: ChildProcess): Promise<string> {
  let output = '';
  const deadline = AbortSignal.timeout(START_MS);
  while (program.stderr !== null) {
    const [chunk] = (await once(program.stderr, 'data', { signal: deadline })) as [Buffer];
    output += chunk.toString();
    const address = /ws:\/\/\S+/.exec(output)?.[0];
    if (address !== undefined) return address;
  }
  throw new Error('Chromium did not start.');
}
