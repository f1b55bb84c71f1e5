import { connect, type Socket } from 'node:net';
import { createInterface } from 'node:readline';

/** One SMTP session with a server on 127.0.0.1, command by command. */
export class SmtpClient {
  readonly #lines: AsyncIterator<string>;

  private constructor(private readonly socket: Socket) {
    socket.on('error', () => socket.destroy());
    this.#lines = createInterface({ input: socket })[Symbol.asyncIterator]();
  }

  /** Greeted, and having said EHLO; from another address of this machine where one is given. */
  static async open(port: number, localAddress?: string): Promise<SmtpClient> {
    const client = await SmtpClient.connect(port, localAddress);
    await client.reply();
    await client.say('EHLO client.test');
    return client;
  }

  static async connect(port: number, localAddress?: string): Promise<SmtpClient> {
    return new SmtpClient(
      connect({ port, host: '127.0.0.1', ...(localAddress !== undefined && { localAddress }) }),
    );
  }

  /** Says a line and resolves to the reply, its lines parted by `\n`; '' when the server hung up. */
  say(line: string): Promise<string> {
    this.socket.write(`${line}\r\n`);
    return this.reply();
  }

  async reply(): Promise<string> {
    const lines: string[] = [];
    for (;;) {
      const next = await this.#lines.next();
      if (next.done === true) return lines.join('\n');
      lines.push(next.value);
      if (!/^\d{3}-/.test(next.value)) return lines.join('\n');
    }
  }

  /** Hands a message over; resolves to the first reply that is no success, or to the last one. */
  async send(from: string, to: readonly string[], message: string): Promise<string> {
    for (const line of [`MAIL FROM:<${from}>`, ...to.map((address) => `RCPT TO:<${address}>`), 'DATA']) {
      const reply = await this.say(line);
      if (!/^[23]/.test(reply)) return reply;
    }
    const stuffed = message.replaceAll(/\r?\n/g, '\r\n').replaceAll(/^\./gm, '..');
    return this.say(`${stuffed}\r\n.`);
  }

  /** Sends the text and hangs up, without waiting for an answer. */
  break(text: string): void {
    this.socket.end(text);
  }

  /** Sends the end of a message with a QUIT and closes its side, as Exim does; resolves to the first reply. */
  async leaveWith(message: string): Promise<string> {
    this.socket.end(`${message}\r\n.\r\nQUIT\r\n`);
    return this.reply();
  }

  close(): void {
    this.socket.destroy();
  }
}
