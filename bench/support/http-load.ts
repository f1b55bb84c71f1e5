import { connect, type Socket } from 'node:net';

/** A request and the status that its answer must have. */
export interface LoadRequest {
  readonly method: 'GET' | 'POST';
  readonly path: string;
  readonly body?: string;
  /** Content type of the body; JSON when left out. */
  readonly type?: string;
  readonly status: number;
}

export const get = (path: string): LoadRequest => ({ method: 'GET', path, status: 200 });

/** With a JSON body. */
export const post = (path: string, status: number, body: object): LoadRequest => ({
  method: 'POST',
  path,
  status,
  body: JSON.stringify(body),
});

export interface Load {
  readonly requests: number;
  readonly seconds: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
}

export interface LoadTarget {
  readonly port: number;
  readonly headers: Readonly<Record<string, string>>;
}

export interface LoadOptions {
  readonly connections: number;
  readonly seconds: number;
  /** Requests a second over all connections; as many as are answered when left out. */
  readonly rate?: number;
}

const END_OF_HEADERS = '\r\n\r\n';
const END_OF_CHUNKS = '\r\n0\r\n\r\n';
const TICK_MS = 2;

/** Kept connection with one request at a time, over a bare socket: an HTTP client would take more of the machine than the server. */
class Connection {
  readonly #socket: Socket;
  readonly #head: string;
  #received = '';
  #asked: LoadRequest | null = null;
  #sentAt = 0;

  constructor(
    { port, headers }: LoadTarget,
    private readonly onAnswer: (connection: Connection, tookMs: number) => void,
    private readonly onFailure: (error: Error) => void,
  ) {
    const lines = Object.entries({ host: `127.0.0.1:${port}`, ...headers });
    this.#head = lines.map(([name, value]) => `${name}: ${value}\r\n`).join('');
    this.#socket = connect({ port, host: '127.0.0.1', noDelay: true });
    this.#socket.setEncoding('latin1').on('data', (chunk: string) => this.#take(chunk));
    this.#socket.on('error', onFailure);
    this.#socket.on('close', () => {
      if (this.#asked !== null) onFailure(new Error(`${this.#asked.path}: no answer, the connection closed`));
    });
  }

  send(request: LoadRequest): void {
    const { method, path, body = '', type = 'application/json' } = request;
    const length = Buffer.byteLength(body);
    const about = body === '' ? '' : `content-type: ${type}\r\ncontent-length: ${length}\r\n`;
    this.#asked = request;
    this.#sentAt = performance.now();
    this.#socket.write(`${method} ${path} HTTP/1.1\r\n${this.#head}${about}\r\n${body}`);
  }

  close(): void {
    this.#asked = null;
    this.#socket.destroy();
  }

  #take(chunk: string): void {
    this.#received += chunk;
    if (this.#asked === null || !isWhole(this.#received)) return;
    const { method, path, status } = this.#asked;
    const answer = this.#received;
    this.#received = '';
    this.#asked = null;
    if (Number(answer.slice(9, 12)) === status) this.onAnswer(this, performance.now() - this.#sentAt);
    else this.onFailure(new Error(`${method} ${path}: ${answer.slice(0, 1_000)}`));
  }
}

/** An answer without a length has no body, or chunks (RFC 9112 §6.3). */
function isWhole(answer: string): boolean {
  const head = answer.indexOf(END_OF_HEADERS);
  if (head === -1) return false;
  const headers = answer.slice(0, head);
  const length = /^content-length: *(\d+)/im.exec(headers)?.[1];
  if (length !== undefined) return answer.length >= head + END_OF_HEADERS.length + Number(length);
  return !/^transfer-encoding: *chunked/im.test(headers) || answer.endsWith(END_OF_CHUNKS);
}

/**
 * Sends requests over kept connections, on each the next one when the answer to the last is there, for `seconds` or until `next`
 * has none. Rejects when an answer has another status than it must.
 */
export async function load(
  target: LoadTarget,
  next: () => LoadRequest | undefined,
  { connections, seconds, rate }: LoadOptions,
): Promise<Load> {
  const took: number[] = [];
  const free = new Set<Connection>();
  const open: Connection[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const began = performance.now();
  const end = began + seconds * 1_000;
  let isOver = false;
  let sent = 0;
  const ask = (connection: Connection) => {
    const request = isOver || performance.now() >= end ? undefined : next();
    isOver ||= request === undefined;
    if (request === undefined) free.add(connection);
    else connection.send(request);
    if (isOver && free.size === open.length) resolve();
  };
  const onAnswer = (connection: Connection, ms: number) => {
    took.push(ms);
    if (rate === undefined || performance.now() >= end) ask(connection);
    else free.add(connection);
  };
  for (let n = 0; n < connections; n += 1) open.push(new Connection(target, onAnswer, reject));
  const sendDue = () => {
    const due = (Math.min(performance.now(), end) - began) * (rate ?? 0) * 1e-3;
    for (const connection of free) {
      if (sent >= due) break;
      free.delete(connection);
      sent += 1;
      ask(connection);
    }
    if (performance.now() < end) return;
    isOver = true;
    if (free.size === open.length) resolve();
  };
  for (const connection of open)
    if (rate === undefined) ask(connection);
    else free.add(connection);
  const timer = rate === undefined ? undefined : setInterval(sendDue, TICK_MS);
  try {
    await promise;
  } finally {
    clearInterval(timer);
    for (const connection of open) connection.close();
  }
  const lasted = (performance.now() - began) / 1_000;
  took.sort((a, b) => a - b);
  const at = (share: number) => took[Math.floor((took.length - 1) * share)] ?? Number.NaN;
  return {
    requests: took.length,
    seconds: lasted,
    perSecond: took.length / lasted,
    p50Ms: at(0.5),
    p99Ms: at(0.99),
  };
}
