import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';

export interface Shot {
  /** In CSS pixels; the height is the page's own. */
  readonly width: number;
  readonly scheme: 'light' | 'dark';
  /** Greatest height of the picture, when the page is longer; CSS pixels. */
  readonly most?: number;
}

interface Answer {
  /** None for an event. */
  readonly id?: number;
  readonly method?: string;
  readonly result?: Record<string, unknown>;
  readonly error?: { readonly message: string };
}

const START_MS = 20_000;

/** A headless Chromium, spoken to by the DevTools protocol. Scripts of a test reach its pages, and leave their policies as they are. */
export class Browser {
  #id = 0;
  #loaded: () => void = () => undefined;
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

  /** Follows an address as a reader with this browser language does. */
  async open(url: string, language = 'en'): Promise<void> {
    await this.#call('Network.enable');
    await this.#call('Network.setExtraHTTPHeaders', { headers: { 'accept-language': language } });
    await this.#arriving(() => this.#call('Page.navigate', { url }));
  }

  /** Presses what the selector finds first, and waits for the page that it leads to. */
  async press(selector: string): Promise<void> {
    await this.#arriving(() => this.run(`document.querySelector(${JSON.stringify(selector)}).click()`));
  }

  /** Shows HTML that has no address, such as that of a mail; not below the policy of the page before. */
  async show(html: string): Promise<void> {
    await this.open('about:blank');
    await this.#call('Page.setDocumentContent', { frameId: await this.#frame(), html });
  }

  /** Evaluates an expression in a world of its own beside the page's, whose policy allows no script. */
  async run<T>(expression: string): Promise<T> {
    const { executionContextId: contextId } = await this.#call('Page.createIsolatedWorld', {
      frameId: await this.#frame(),
      worldName: 'mailwright',
    });
    const asked = { expression, contextId, awaitPromise: true, returnByValue: true };
    const { result, exceptionDetails } = (await this.#call('Runtime.evaluate', asked)) as {
      result: { value: T };
      exceptionDetails?: { exception?: { description?: string } };
    };
    if (exceptionDetails === undefined) return result.value;
    throw new Error(exceptionDetails.exception?.description ?? 'The expression threw.');
  }

  /** Sets the size of the window, and the colours that the reader prefers. */
  async look({ width, scheme }: Shot, height = 800): Promise<void> {
    const features = [{ name: 'prefers-color-scheme', value: scheme }];
    await this.#call('Emulation.setEmulatedMedia', { features });
    await this.#sized(width, height);
  }

  /** The page as a PNG, as high as it is, or as `most` says. */
  async shoot({ width, scheme, most = Infinity }: Shot): Promise<Buffer> {
    await this.look({ width, scheme }, 600);
    const { cssContentSize } = (await this.#call('Page.getLayoutMetrics')) as {
      cssContentSize: { height: number };
    };
    await this.#sized(width, Math.min(most, Math.ceil(cssContentSize.height)));
    const { data } = await this.#call('Page.captureScreenshot', { format: 'png' });
    return Buffer.from(String(data), 'base64');
  }

  /** As it is printed on A4. */
  async print(): Promise<Buffer> {
    const { data } = await this.#call('Page.printToPDF', { paperWidth: 8.27, paperHeight: 11.69 });
    return Buffer.from(String(data), 'base64');
  }

  async stop(): Promise<void> {
    const ended = once(this.program, 'exit');
    this.program.kill();
    await ended;
    await rm(this.directory, { recursive: true, force: true, maxRetries: 5 });
  }

  async #frame(): Promise<string> {
    const { frameTree } = (await this.#call('Page.getFrameTree')) as { frameTree: { frame: { id: string } } };
    return frameTree.frame.id;
  }

  /** Does what leads to another page, and waits until that has loaded. */
  async #arriving(leave: () => Promise<unknown>): Promise<void> {
    await this.#call('Page.enable');
    const loaded = Promise.withResolvers<void>();
    this.#loaded = loaded.resolve;
    await leave();
    await loaded.promise;
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

  #answered({ id, method, result, error }: Answer): void {
    if (method === 'Page.loadEventFired') this.#loaded();
    if (id === undefined) return;
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
