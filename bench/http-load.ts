import { connect, type Socket } from 'node:net';

export interface LoadResult {
  readonly answers: number;
  readonly errors: number;
  readonly seconds: number;
}

export interface LoadOptions {
  readonly port: number;
  readonly connections: number;
  readonly seconds: number;
  /** The path of the next request. */
  readonly nextPath: () => string;
  /** Requests a second over all connections; as many as are answered when left out. */
  readonly rate?: number;
}

const END_OF_HEADERS = '\r\n\r\n';
const REDIRECT = 'HTTP/1.1 302 ';

/** One keep-alive connection with one request at a time. Understands answers without a body, which redirects are. */
class Connection {
  readonly #socket: Socket;
  #received = '';
  #isBusy = false;
  answers = 0;
  errors = 0;

  constructor(
    port: number,
    private readonly onFree: (connection: Connection) => void,
  ) {
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1').on('data', (chunk: string) => this.#take(chunk));
    this.#socket.on('error', () => this.#failed());
    this.#socket.on('close', () => this.#failed());
  }

  request(path: string): void {
    this.#isBusy = true;
    this.#socket.write(
      `GET ${path} HTTP/1.1\r\nHost: bench\r\nUser-Agent: Mozilla/5.0 (X11; Linux x86_64) Gecko/20100101\r\n\r\n`,
    );
  }

  close(): void {
    this.#isBusy = false;
    this.#socket.destroy();
  }

  #take(chunk: string): void {
    this.#received += chunk;
    if (!this.#received.endsWith(END_OF_HEADERS)) return;
    if (this.#received.startsWith(REDIRECT)) this.answers += 1;
    else this.errors += 1;
    this.#received = '';
    this.#isBusy = false;
    this.onFree(this);
  }

  #failed(): void {
    if (this.#isBusy) this.errors += 1;
    this.#isBusy = false;
  }
}

/** Asks for redirects, as fast as they are answered or at a fixed rate. */
export async function load({ port, connections, seconds, nextPath, rate }: LoadOptions): Promise<LoadResult> {
  let isOver = false;
  const free: Connection[] = [];
  const onFree = (connection: Connection) => {
    if (rate !== undefined) free.push(connection);
    else if (!isOver) connection.request(nextPath());
  };
  const open = Array.from({ length: connections }, () => new Connection(port, onFree));
  const begin = performance.now();
  if (rate === undefined) for (const connection of open) connection.request(nextPath());
  else free.push(...open);
  await new Promise<void>((resolve) => {
    let sent = 0;
    const tick = setInterval(() => {
      const elapsed = (performance.now() - begin) / 1_000;
      if (rate !== undefined) {
        for (const due = Math.min(elapsed, seconds) * rate; sent < due; sent += 1) {
          const connection = free.pop();
          if (connection === undefined) break;
          connection.request(nextPath());
        }
      }
      if (elapsed < seconds || (rate !== undefined && sent < rate * seconds && elapsed < seconds * 2)) return;
      clearInterval(tick);
      resolve();
    }, 2);
  });
  isOver = true;
  const elapsed = (performance.now() - begin) / 1_000;
  if (rate !== undefined) await new Promise((resolve) => setTimeout(resolve, 300));
  for (const connection of open) connection.close();
  const sum = (of: (connection: Connection) => number) =>
    open.reduce((total, connection) => total + of(connection), 0);
  return { answers: sum(({ answers }) => answers), errors: sum(({ errors }) => errors), seconds: elapsed };
}
