import type { Socket } from 'node:net';
import {
  type ConnectionCount,
  messageIdOf,
  type ReceivedMail,
  type SinkAction,
  type SinkRules,
  type SinkStage,
} from './sink-rules.js';

const TRICKLE_MS = 20;
const DATA_END = '\r\n.\r\n';

/** State that the connections of one sink share. */
export interface SinkState {
  readonly rules: SinkRules;
  readonly connections: ConnectionCount;
  readonly messages: ReceivedMail[];
  readonly commands: string[];
  readonly extensions: readonly string[];
  readonly keepsAll: boolean;
}

/** The server's side of one SMTP session. */
export class RawConnection {
  readonly #socket: Socket;
  readonly #state: SinkState;
  readonly #id: string;
  #input: Buffer = Buffer.alloc(0);
  #receivesBody = false;
  #bodyStarted = false;
  /** Length of the input that is known not to hold the end of the body. */
  #searched = 0;
  #silent = false;
  #from: string | null = null;
  #to: string[] = [];

  constructor(socket: Socket, state: SinkState, id: string) {
    this.#socket = socket;
    this.#state = state;
    this.#id = id;
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk: Buffer) => {
      this.#input = this.#input.length === 0 ? chunk : Buffer.concat([this.#input, chunk]);
      this.#proceed();
    });
  }

  greet(): void {
    this.#answer('greeting', '220 sink.test ESMTP');
  }

  /** Works through the input until it ends or an answer has to wait. What came together is answered together (RFC 2920 §3.2). */
  #proceed(): void {
    this.#socket.cork();
    while (!this.#silent && this.#input.length > 0 && this.#step());
    this.#socket.uncork();
  }

  #step(): boolean {
    return this.#receivesBody ? this.#body() : this.#command();
  }

  #command(): boolean {
    const end = this.#input.indexOf('\r\n');
    if (end === -1) return false;
    const line = this.#input.toString('utf8', 0, end);
    this.#input = this.#input.subarray(end + 2);
    if (this.#state.keepsAll) this.#state.commands.push(line);
    this.#obey(line);
    return true;
  }

  #obey(line: string): void {
    const verb = line.slice(0, 4).toUpperCase();
    if (verb === 'EHLO') return this.#answer('ehlo', ehloReply(this.#state.extensions));
    if (verb === 'HELO') return this.#write('250 sink.test');
    if (verb === 'AUTH') return this.#answer('auth', '235 2.7.0 Accepted');
    if (verb === 'RSET') return this.#answer('rset', '250 2.0.0 Reset', () => this.#forget());
    if (verb === 'QUIT') return this.#answer('quit', '221 2.0.0 Bye', () => this.#socket.end());
    if (verb === 'MAIL') {
      if (this.#from !== null) return this.#write('503 5.5.1 Nested MAIL command');
      const from = addressIn(line);
      return this.#answer('mail', '250 2.1.0 Sender ok', () => (this.#from = from), from);
    }
    if (verb === 'RCPT') {
      if (this.#from === null) return this.#write('503 5.5.1 No sender');
      const to = addressIn(line);
      return this.#answer('rcpt', '250 2.1.5 Recipient ok', () => this.#to.push(to), undefined, [
        ...this.#to,
        to,
      ]);
    }
    if (verb === 'DATA') return this.#data();
    this.#write('500 5.5.2 Unknown command');
  }

  #data(): void {
    const usual = this.#to.length === 0 ? '554 5.5.1 Error: no valid recipients' : '354 Go on';
    this.#answer('data', usual, () => {
      this.#receivesBody = true;
      this.#bodyStarted = false;
    });
  }

  #body(): boolean {
    if (!this.#bodyStarted) {
      this.#bodyStarted = true;
      const action = this.#state.rules.take('body-start', this.#transaction());
      if (action !== null) {
        this.#act(action, (reply) => this.#write(reply), '');
        return true;
      }
    }
    // The CRLF that the end needs before its dot may be the one of the DATA command.
    const end =
      this.#input.toString('latin1', 0, 3) === '.\r\n' ? -2 : this.#input.indexOf(DATA_END, this.#searched);
    this.#searched = end === -1 ? Math.max(0, this.#input.length - DATA_END.length) : 0;
    if (end === -1) return false;
    const stuffed = this.#input.subarray(0, end + 2);
    this.#input = this.#input.subarray(end + DATA_END.length);
    this.#receivesBody = false;
    const { from, to } = this.#transaction();
    this.#forget();
    const keep = (): void => this.#keep(from, to, stuffed, unstuffed);
    this.#answer('body', `250 2.0.0 Queued as ${this.#state.messages.length + 1}`, keep, from, to);
    return true;
  }

  #keep(from: string, to: readonly string[], received: Buffer, composed: (received: Buffer) => Buffer): void {
    const { keepsAll, messages } = this.#state;
    messages.push({
      ...this.#transaction(from, to),
      secure: false,
      messageId: messageIdOf(received),
      raw: keepsAll ? composed(received) : Buffer.alloc(0),
      receivedAt: Date.now(),
    });
  }

  #forget(): void {
    this.#from = null;
    this.#to = [];
  }

  #transaction(from = this.#from ?? '', to: readonly string[] = this.#to) {
    return { connectionId: this.#id, from, to };
  }

  /** The usual reply, or what a rule puts in its place. A reply that is no refusal has its effect. */
  #answer(
    at: SinkStage,
    reply: string,
    effect: () => unknown = () => null,
    from?: string,
    to?: readonly string[],
  ): void {
    const answer = (given: string): void => {
      this.#write(given);
      if (/^[23]/.test(given)) effect();
    };
    const action = this.#state.rules.take(at, this.#transaction(from, to));
    if (action === null) answer(reply);
    else this.#act(action, answer, reply);
  }

  #act(action: SinkAction, answer: (reply: string) => void, usual: string): void {
    if (typeof action === 'object' && 'reply' in action) return answer(action.reply);
    if (typeof action === 'object' && ('delayMs' in action || 'hold' in action)) {
      this.#silent = true;
      const answerNow = () => {
        this.#silent = false;
        answer(usual);
        this.#proceed();
      };
      if ('hold' in action) action.hold(answerNow);
      else setTimeout(answerNow, action.delayMs);
      return;
    }
    this.#silent = true;
    // Sends what was answered before.
    this.#socket.uncork();
    if (action === 'hang') return;
    if (action === 'drop') return void this.#socket.destroy();
    if (action === 'reset') return void this.#socket.resetAndDestroy();
    if (action === 'trickle') return this.#trickle();
    answer(action.replyThenDrop);
    this.#socket.end();
  }

  /** A reply of which more and more comes, but never its end. */
  #trickle(): void {
    this.#socket.write('250-');
    const timer = setInterval(() => this.#socket.write('x'), TRICKLE_MS);
    this.#socket.once('close', () => clearInterval(timer));
  }

  #write(reply: string): void {
    if (this.#socket.writable && reply !== '') this.#socket.write(`${reply}\r\n`);
  }
}

function ehloReply(extensions: readonly string[]): string {
  const lines = ['sink.test', ...extensions];
  return lines.map((line, at) => `250${at === lines.length - 1 ? ' ' : '-'}${line}`).join('\r\n');
}

function addressIn(line: string): string {
  return /<(.*)>/.exec(line)?.[1] ?? '';
}

function unstuffed(body: Buffer): Buffer {
  return Buffer.from(body.toString('latin1').replace(/^\.\./gm, '.'), 'latin1');
}
