import { bodyOf } from './body.js';
import type { Capabilities } from './capabilities.js';
import { type Envelope, envelopeFor } from './envelope.js';
import type { OutgoingMessage, SendOutcome, SmtpReply, SmtpStage } from './mail-transport.js';
import { ConnectionLost, type SmtpChannel } from './smtp-channel.js';

/** How long a relay may take for its replies, in milliseconds. */
interface ReplyTimeouts {
  readonly reply: number;
  readonly data: number;
}

/** What came of an attempt. It may be repeated on another connection when this one ended before anything was accepted. */
export interface Attempt {
  readonly outcome: SendOutcome;
  readonly repeatable: boolean;
}

interface Step {
  readonly stage: SmtpStage;
  readonly command: string;
}

interface Refusal {
  readonly reply: SmtpReply;
  readonly stage: SmtpStage;
}

const RSET: Step = { stage: 'mail', command: 'RSET\r\n' };
const DATA: Step = { stage: 'data', command: 'DATA\r\n' };
/** What a relay says to a client it does not know, whatever the message (RFC 4954 §6, RFC 3207 §4). */
const NOT_AUTHENTICATED = new Set([530, 534, 535, 538]);

/** Mail transactions over one connection, one after the other. */
export class SmtpSession {
  readonly #channel: SmtpChannel;
  readonly #relay: Capabilities;
  readonly #timeouts: ReplyTimeouts;
  #transactions = 0;
  #stage: SmtpStage = 'mail';
  #resetFirst = false;

  constructor(channel: SmtpChannel, relay: Capabilities, timeouts: ReplyTimeouts) {
    this.#channel = channel;
    this.#relay = relay;
    this.#timeouts = timeouts;
  }

  get usable(): boolean {
    return this.#channel.usable;
  }

  /** How many transactions were begun. */
  get transactions(): number {
    return this.#transactions;
  }

  async send(message: OutgoingMessage): Promise<Attempt> {
    const body = bodyOf(message.raw);
    const envelope = envelopeFor(message, body, this.#relay);
    if ('reply' in envelope) return final(refused(envelope));
    this.#transactions++;
    try {
      const refusal = await this.#offer(envelope);
      if (refusal !== null) return this.#refusedBeforeBody(refusal);
      this.#channel.write(body.octets, 1);
    } catch (error) {
      return lostBeforeBody(error, this.#stage);
    }
    return final(await this.#finalReply());
  }

  async quit(): Promise<void> {
    await this.#channel.quit();
  }

  /** Everything up to the reply to DATA; null when the relay now waits for the body. */
  async #offer(envelope: Envelope): Promise<Refusal | null> {
    const steps: Step[] = [
      { stage: 'mail', command: envelope.mail },
      { stage: 'rcpt', command: envelope.rcpt },
      DATA,
    ];
    if (this.#resetFirst) steps.unshift(RSET);
    this.#resetFirst = true;
    const { pipelining } = this.#relay;
    if (pipelining) this.#channel.write(steps.map((step) => step.command).join(''), steps.length);
    let refusal: Refusal | null = null;
    for (const step of steps) {
      if (!pipelining && refusal !== null) break;
      if (!pipelining) this.#channel.write(step.command, 1);
      this.#stage = step.stage;
      refusal = await this.#replyTo(step, refusal);
      if (!this.#channel.usable && refusal !== null) break;
    }
    return refusal;
  }

  /** Reads the reply to one step; the first refusal of a group is the one that counts. */
  async #replyTo(step: Step, earlier: Refusal | null): Promise<Refusal | null> {
    let reply: SmtpReply;
    try {
      reply = await this.#channel.reply(this.#timeouts.reply);
    } catch (error) {
      if (earlier !== null) return earlier;
      throw error;
    }
    if (reply.code === 421) this.#channel.close();
    if (isWanted(step, reply)) {
      if (step === DATA && earlier !== null) await this.#endEmptyMessage(earlier);
      return earlier;
    }
    if (earlier !== null) return earlier;
    if (reply.code >= 400 && step !== RSET) return { reply, stage: step.stage };
    this.#channel.close();
    throw new ConnectionLost(`The relay answered ${reply.code}, which has no meaning here.`);
  }

  /**
   * A relay may wait for a body although it refused the recipient: it gets an empty one, which goes to
   * nobody (RFC 2920 §3.1). One that refused even the sender is not trusted that far.
   */
  async #endEmptyMessage(refusal: Refusal): Promise<void> {
    if (refusal.stage !== 'rcpt') return this.#channel.close();
    try {
      this.#channel.write('.\r\n', 1);
      await this.#channel.reply(this.#timeouts.reply);
    } catch {
      // Whether the session survives or not, the refusal stands.
    }
  }

  #refusedBeforeBody(refusal: Refusal): Attempt {
    if (!NOT_AUTHENTICATED.has(refusal.reply.code)) {
      return { outcome: refused(refusal), repeatable: refusal.reply.code === 421 };
    }
    this.#channel.close();
    const { code, text } = refusal.reply;
    return final({ kind: 'route-unavailable', stage: 'auth', detail: `${code} ${text}` });
  }

  /**
   * The body left in one write, and how much of it the relay has seen cannot be known: from here on, no
   * reply means ambiguous, even where the connection broke early.
   */
  async #finalReply(): Promise<SendOutcome> {
    this.#stage = 'body';
    let reply: SmtpReply;
    try {
      reply = await this.#channel.reply(this.#timeouts.data);
    } catch (error) {
      return { kind: 'ambiguous', detail: detailOf(error) };
    }
    this.#resetFirst = false;
    if (reply.code === 421) this.#channel.close();
    if (reply.code < 300) return { kind: 'accepted', response: responseOf(reply) };
    if (reply.code >= 400) return refused({ reply, stage: 'body' });
    this.#channel.close();
    return { kind: 'ambiguous', detail: `The relay answered ${reply.code} to the message.` };
  }
}

function isWanted(step: Step, reply: SmtpReply): boolean {
  return Math.floor(reply.code / 100) === (step === DATA ? 3 : 2);
}

function final(outcome: SendOutcome): Attempt {
  return { outcome, repeatable: false };
}

function refused({ reply, stage }: Refusal): SendOutcome {
  return { kind: reply.code >= 500 ? 'permanent' : 'temporary', reply, stage };
}

function lostBeforeBody(error: unknown, stage: SmtpStage): Attempt {
  if (!(error instanceof ConnectionLost)) throw error;
  const reply = { code: 421, enhancedCode: error.timedOut ? '4.4.1' : '4.4.2', text: error.message };
  return { outcome: { kind: 'temporary', reply, stage }, repeatable: !error.timedOut };
}

function detailOf(error: unknown): string {
  if (!(error instanceof ConnectionLost)) throw error;
  return error.message;
}

function responseOf({ code, enhancedCode, text }: SmtpReply): string {
  return [code, enhancedCode, text].filter(Boolean).join(' ');
}
