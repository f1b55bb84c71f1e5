import type { Socket } from 'node:net';
import type SMTPConnection from 'nodemailer/lib/smtp-connection';
import { joinOctets, type Octets, sizeOf } from '#kernel';
import type { SmtpReply } from './mail-transport.js';
import { ReplyReader } from './reply-reader.js';

const QUIT_MS = 5_000;
/** What most messages fit in; a larger one gets memory of its own. */
const MEMORY_OCTETS = 32_768;

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
 * An opened, authenticated session as a stream of commands and replies.
 *
 * Opening is nodemailer's (addresses, TLS, AUTH); then this takes over the socket's data, and the
 * connection object keeps watching for errors and the end. Its own `send` takes almost twice the CPU for the
 * same octets, and its errors do not say whether the body was handed over.
 */
export class SmtpChannel {
  /** Settles when the socket is gone. */
  readonly closed: Promise<void>;
  readonly #connection: SMTPConnection;
  readonly #socket: Socket;
  readonly #reader = new ReplyReader();
  readonly #replies: SmtpReply[] = [];
  #memory: Buffer | null = null;
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
    connection.on('error', (error: Error) => this.#lose(new ConnectionLost(error.message)));
    connection.on('end', () => this.#lose(new ConnectionLost('The relay closed the connection.')));
  }

  get usable(): boolean {
    return this.#lost === null && this.#socket.writable;
  }

  /** Sends commands or a body, in one write, for which the relay owes so many replies. */
  write(octets: string | readonly Octets[], replies: number): void {
    if (!this.usable) throw this.#lost ?? new ConnectionLost('The relay is closing the connection.');
    this.#owed += replies;
    this.#socket.write(
      typeof octets === 'string' ? octets : joinOctets(octets, this.#memoryFor(sizeOf(octets))),
    );
  }

  /**
   * Memory that is used again when all that was written before has left. V8 counts the memory of buffers as growth: with
   * new memory for each mail it would look through all its old objects twice as often.
   */
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
    this.#connection.close();
    this.#waiter?.reject(error);
    this.#waiter = null;
  }
}
