import type { Socket } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { joinOctets, type Octets, sizeOf } from '#kernel';
import type { SmtpReply } from './mail-transport.js';

const LEADING = /^([245])\.(\d{1,3})\.(\d{1,3})(?=\s|$)/;
/** `#5.1.1` anywhere, as qmail and its descendants write it. */
const HASHED = /#([245])\.(\d{1,3})\.(\d{1,3})(?!\d|\.\d)/;

/**
 * The enhanced status code of a reply line (RFC 3463 §2); null without one, or where its class is not the reply's
 * (RFC 2034 §4).
 */
export function enhancedCodeOf(code: number, text: string): string | null {
  const match = LEADING.exec(text) ?? HASHED.exec(text);
  if (match === null || match[1] !== String(code).charAt(0)) return null;
  return `${match[1]}.${Number(match[2])}.${Number(match[3])}`;
}

/** The line without the enhanced code that leads it (RFC 2034 §3 repeats it on every line). */
export function withoutEnhancedCode(text: string): string {
  return text.replace(LEADING, '').trim();
}

/** A reply is at most a few lines of 512 octets (RFC 5321 §4.5.3.1.5); this only stops a relay that never ends one. */
const MAX_REPLY_OCTETS = 65_536;
const LINE = /^([2-5]\d\d)(?:([ -])(.*))?$/;

/** The peer does not speak SMTP. */
export class SmtpProtocolError extends Error {}

/** Cuts the relay's octets into replies, multi-line ones included (RFC 5321 §4.2.1). */
export class ReplyReader {
  #rest = '';
  #lines: string[] = [];
  #octets = 0;

  /** The replies that this chunk completes. Throws SmtpProtocolError on anything that is no reply. */
  push(chunk: Buffer): SmtpReply[] {
    const parts = (this.#rest + chunk.toString('latin1')).split('\n');
    this.#rest = parts.pop() ?? '';
    this.#octets += chunk.length;
    const replies: SmtpReply[] = [];
    for (const part of parts) {
      const reply = this.#line(part.endsWith('\r') ? part.slice(0, -1) : part);
      if (reply !== null) replies.push(reply);
    }
    if (replies.length > 0) this.#octets = this.#rest.length;
    if (this.#octets > MAX_REPLY_OCTETS) throw new SmtpProtocolError('The relay sent a reply without end.');
    return replies;
  }

  #line(line: string): SmtpReply | null {
    const match = LINE.exec(line);
    if (match === null) throw new SmtpProtocolError('The relay sent a line that is no SMTP reply.');
    this.#lines.push(match[3] ?? '');
    if (match[2] === '-') return null;
    const reply = replyOf(Number(match[1]), this.#lines);
    this.#lines = [];
    return reply;
  }
}

function replyOf(code: number, lines: string[]): SmtpReply {
  let enhancedCode: string | null = null;
  for (const line of lines) enhancedCode ??= enhancedCodeOf(code, line);
  return { code, enhancedCode, text: lines.map(readable).filter(Boolean).join(' ') };
}

/** Replies are ASCII or, in practice, UTF-8; what is neither stays as Latin-1. A database takes no NUL for text. */
function readable(line: string): string {
  return decoded(withoutEnhancedCode(line)).replaceAll(/\p{Cc}/gu, ' ');
}

function decoded(text: string): string {
  if (!/[\x80-\xff]/.test(text)) return text;
  const utf8 = Buffer.from(text, 'latin1').toString('utf8');
  return utf8.includes('\uFFFD') ? text : utf8;
}

const QUIT_MS = 5_000;
/** Most messages fit in; a larger one gets memory of its own. */
const MEMORY_OCTETS = 32_768;
/** Octets from which a message leaves piece by piece. */
const LARGE_OCTETS = 262_144;

/** No reply will come any more on this connection. */
export class ConnectionLost extends Error {
  constructor(
    detail: string,
    readonly timedOut = false,
  ) {
    super(detail);
  }
}

/**
 * An opened session as a stream of commands and replies. It takes over the socket's data from nodemailer's connection, which
 * keeps watching for errors and the end: its own `send` takes more CPU, and does not say whether the body was handed over.
 */
export class SmtpChannel {
  /** Settles when the socket is gone. */
  readonly closed: Promise<void>;
  readonly #connection: SMTPConnection;
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  readonly #replies: SmtpReply[] = [];
  #memory: Buffer | null = null;
  /** Pieces that the socket has no room for yet. */
  #unsent: Octets[] = [];
  #owed = 0;
  #lost: ConnectionLost | null = null;
  #waiter: { resolve(reply: SmtpReply): void; reject(error: Error): void } | null = null;

  constructor(connection: SMTPConnection, socket: Socket) {
    this.#connection = connection;
    this.#socket = socket;
    this.closed = socket.closed
      ? Promise.resolve()
      : new Promise((resolve) => socket.once('close', () => resolve()));
    socket.setTimeout(0);
    socket.removeAllListeners('data');
    socket.on('data', (chunk: Buffer) => this.#receive(chunk));
    socket.on('drain', () => this.#sendOn());
    connection.on('error', (error: Error) => this.#lose(new ConnectionLost(error.message)));
    connection.on('end', () => this.#lose(new ConnectionLost('The relay closed the connection.')));
  }

  get usable(): boolean {
    return this.#lost === null && this.#socket.writable;
  }

  /** Sends commands or a body, in one write unless it is large, for which the relay owes so many replies. */
  write(octets: string | readonly Octets[], replies: number): void {
    if (!this.usable) throw this.#lost ?? new ConnectionLost('The relay is closing the connection.');
    this.#owed += replies;
    const pieces = typeof octets === 'string' ? [octets] : octets;
    const size = sizeOf(pieces);
    if (size > LARGE_OCTETS || this.#unsent.length > 0) {
      this.#unsent.push(...pieces);
      this.#sendOn();
    } else {
      this.#socket.write(typeof octets === 'string' ? octets : joinOctets(octets, this.#memoryFor(size)));
    }
  }

  /** A large message leaves as fast as the socket takes it: no copy of it, and no encryption of all in one go. */
  #sendOn(): void {
    while (this.usable && !this.#socket.writableNeedDrain) {
      const piece = this.#unsent.shift();
      if (piece === undefined) return;
      this.#socket.write(piece, 'latin1');
    }
  }

  /** Memory that is used again once all that was written has left: V8 takes new buffers for growth, and collects more often. */
  #memoryFor(size: number): Buffer {
    if (size > MEMORY_OCTETS) return Buffer.allocUnsafeSlow(size);
    if (this.#memory === null || this.#socket.writableLength > 0)
      this.#memory = Buffer.allocUnsafeSlow(MEMORY_OCTETS);
    return this.#memory;
  }

  /** The next reply. Rejects with ConnectionLost when the connection ends or nothing comes in time; both close it. */
  async reply(timeoutMs: number): Promise<SmtpReply> {
    const ready = this.#replies.shift();
    if (ready !== undefined) return ready;
    if (this.#lost !== null) throw this.#lost;
    let timer: NodeJS.Timeout | undefined;
    try {
      return await new Promise((resolve, reject) => {
        this.#waiter = { resolve, reject };
        timer = setTimeout(() => {
          this.#lose(new ConnectionLost(`The relay did not reply within ${timeoutMs} ms.`, true));
        }, timeoutMs);
      });
    } finally {
      clearTimeout(timer);
    }
  }

  /** Ends the session politely (RFC 5321 §4.1.1.10), within a few seconds; resolves when the socket is gone. */
  async quit(): Promise<void> {
    try {
      this.write('QUIT\r\n', 1);
      await this.reply(QUIT_MS);
    } catch {
      // It is gone already, or does not answer: closing is all that is left.
    }
    this.close();
    await this.closed;
  }

  close(): void {
    this.#lose(new ConnectionLost('The connection was closed.'));
  }

  #receive(chunk: Buffer): void {
    if (this.#lost !== null) return;
    try {
      for (const reply of this.#reader.push(chunk)) this.#accept(reply);
    } catch (error) {
      this.#lose(error instanceof ConnectionLost ? error : new ConnectionLost(String(error)));
    }
  }

  #accept(reply: SmtpReply): void {
    // Unasked, a relay says only that it goes away (RFC 5321 §3.8).
    if (this.#owed === 0) throw new ConnectionLost(`The relay ended the idle session (${reply.code}).`);
    this.#owed--;
    const waiter = this.#waiter;
    this.#waiter = null;
    if (waiter === null) this.#replies.push(reply);
    else waiter.resolve(reply);
  }

  #lose(error: ConnectionLost): void {
    if (this.#lost !== null) return;
    this.#lost = error;
    this.#unsent = [];
    this.#connection.close();
    this.#waiter?.reject(error);
    this.#waiter = null;
  }
}
