import { once } from 'node:events';
import type { Socket } from 'node:net';
import type { SMTPServer, SMTPServerDataStream } from 'smtp-server';

const WINDOW_MS = 60_000;
const MOST_CLIENTS = 10_000;

/** The limits of one client on the bounce server. */
export const CLIENT_LIMITS = { connections: 20, mailsPerMinute: 600, strangersPerMinute: 50 } as const;

type Kind = 'mails' | 'strangers';

/**
 * Counts the connections and commands of each client. A client is an IPv4 address or an IPv6 network of /64, which one
 * machine has for itself (RFC 6177 §2). Counts restart each minute.
 */
export class ClientLimits {
  /** The clients of open connections, by the connections' ids. */
  readonly #connections = new Map<string, string>();
  readonly #counts = new Map<string, number>();
  #windowEndsAt = 0;

  constructor(private readonly now: () => Date) {}

  /** False when the client has enough connections already. */
  enter(connectionId: string, address: string): boolean {
    const client = clientOf(address);
    const open = [...this.#connections.values()].filter((other) => other === client).length;
    if (open >= CLIENT_LIMITS.connections) return false;
    this.#connections.set(connectionId, client);
    return true;
  }

  leave(connectionId: string): void {
    this.#connections.delete(connectionId);
  }

  /** Counts one event of a kind; false when it exceeds the limit per minute. */
  allows(kind: Kind, address: string): boolean {
    const now = this.now().getTime();
    if (now >= this.#windowEndsAt || this.#counts.size >= MOST_CLIENTS) {
      this.#counts.clear();
      this.#windowEndsAt = now + WINDOW_MS;
    }
    const key = `${kind} ${clientOf(address)}`;
    const count = (this.#counts.get(key) ?? 0) + 1;
    this.#counts.set(key, count);
    return count <= (kind === 'mails' ? CLIENT_LIMITS.mailsPerMinute : CLIENT_LIMITS.strangersPerMinute);
  }
}

function clientOf(address: string): string {
  if (!address.includes(':') || address.includes('.')) return address;
  const [head = '', tail = ''] = address.split('::');
  const groups = head.split(':').filter((group) => group !== '');
  const missing = address.includes('::') ? 8 - groups.length - tail.split(':').filter(Boolean).length : 0;
  return [...groups, ...Array<string>(Math.max(0, missing)).fill('0'), ...tail.split(':')]
    .slice(0, 4)
    .join(':');
}

/** Time for our answers to reach a client that has closed its side. */
const OWED_MS = 5_000;

/** Options of a server with `answerHalfClosed`. */
export const HALF_OPEN = { allowHalfOpen: true } as const;

/**
 * Answers clients that close their side right after the message, as Exim does after a QUIT that it does not wait for:
 * smtp-server treats them as disconnected, so they would get no answer and send the mail again.
 */
export function answerHalfClosed({ server }: SMTPServer): void {
  server.prependListener('connection', (socket: Socket) => {
    Object.defineProperty(socket, 'readyState', { get: () => (socket.writable ? 'open' : 'closed') });
    socket.once('end', () => setTimeout(() => socket.end(), OWED_MS).unref());
  });
}

/** An error that tells smtp-server what to answer. */
export type Answer = (error?: Error | null, reply?: string) => void;

/** Refuses with a basic code, and a text that starts with the enhanced code. */
export function refuse(done: Answer, code: number, text: string): void {
  done(Object.assign(new Error(text), { responseCode: code }));
}

/** Bytes of a mail that are read; the rest is dropped as it arrives. */
const KEPT_BYTES = 256 * 1024;

/** Reads the beginning of an incoming mail: `too-big` for the server, `incomplete` if its client disconnected. */
export async function readMail(stream: SMTPServerDataStream): Promise<Buffer | 'too-big' | 'incomplete'> {
  const chunks: Buffer[] = [];
  let kept = 0;
  stream.on('data', (chunk: Buffer) => {
    if (kept >= KEPT_BYTES) return;
    chunks.push(chunk);
    kept += chunk.length;
  });
  try {
    await once(stream, 'end');
  } catch {
    return 'incomplete';
  }
  return stream.sizeExceeded ? 'too-big' : Buffer.concat(chunks);
}
