import { type MailBody, octetsOf } from '#kernel';
import { bodyOf, dataOf, firstLineOf } from './body.js';
import type { Capabilities } from './capabilities.js';
import type { Chunking } from './chunking.js';
import { type Envelope, envelopeFor } from './envelope.js';
import type { OutgoingMessage, SendOutcome, SmtpReply, SmtpStage } from './mail-transport.js';
import {
  type Attempt,
  final,
  isOfSession,
  lostBeforeBody,
  outcomeOfReplies,
  outcomeOfReply,
  refused,
  type Refusal,
  refusedBeforeBody,
} from './smtp-attempt.js';
import { ConnectionLost, type SmtpChannel } from './smtp-channel.js';

/** How long a relay may take for its replies, and until when after one it is sure to be there, in milliseconds. */
interface ReplyTimeouts {
  readonly reply: number;
  readonly data: number;
  readonly awake: number;
}

interface Step {
  readonly stage: SmtpStage;
  readonly command: string;
}

const RSET: Step = { stage: 'mail', command: 'RSET\r\n' };
const DATA: Step = { stage: 'data', command: 'DATA\r\n' };
/** A larger message is not sent before its recipient is known to be accepted. */
const AT_ONCE_OCTETS = 131_072;

/** Mail transactions over one connection, one after the other. */
export class SmtpSession {
  readonly #channel: SmtpChannel;
  /** What the relay offered. */
  readonly capabilities: Capabilities;
  readonly #timeouts: ReplyTimeouts;
  readonly #chunking: Chunking;
  #transactions = 0;
  #stage: SmtpStage = 'mail';
  #resetFirst = false;
  #knowsChunks = false;
  #answeredAt = 0;

  constructor(channel: SmtpChannel, relay: Capabilities, timeouts: ReplyTimeouts, chunking: Chunking) {
    this.#channel = channel;
    this.capabilities = relay;
    this.#timeouts = timeouts;
    this.#chunking = chunking;
  }

  get usable(): boolean {
    return this.#channel.usable;
  }

  /** How many transactions were begun. */
  get transactions(): number {
    return this.#transactions;
  }

  async send(message: OutgoingMessage): Promise<Attempt> {
    const body = Buffer.isBuffer(message.raw) ? bodyOf(message.raw) : message.raw;
    const envelope = envelopeFor(message, body, this.capabilities);
    if ('reply' in envelope) return final(refused(envelope));
    this.#transactions++;
    const mayChunk = message.atOnce === true && body.size <= AT_ONCE_OCTETS && this.#mayChunk();
    return mayChunk && this.#isAwake()
      ? this.#sendAtOnce(envelope, body)
      : this.#sendInTurns(envelope, body, mayChunk && !this.#knowsChunks && firstLineOf(body) > 0);
  }

  async quit(): Promise<void> {
    await this.#channel.quit();
  }

  #mayChunk(): boolean {
    return this.capabilities.chunking && this.capabilities.pipelining && this.#chunking.inUse;
  }

  /** Whether it is sure to be there, knows BDAT and has ended what was before. */
  #isAwake(): boolean {
    const isRecent = performance.now() - this.#answeredAt < this.#timeouts.awake;
    return this.#knowsChunks && isRecent && !this.#resetFirst;
  }

  /** Envelope and message in one write (RFC 3030 §4.2). */
  async #sendAtOnce({ mail, rcpt }: Envelope, body: MailBody): Promise<Attempt> {
    const commands = Buffer.from(`${mail}${rcpt}BDAT ${body.size} LAST\r\n`);
    this.#resetFirst = true;
    try {
      this.#channel.write([commands, ...body.pieces], 3);
    } catch (error) {
      return lostBeforeBody(error, 'mail');
    }
    const answer = await this.#channel.replies(3, this.#timeouts.data);
    const attempt = outcomeOfReplies(answer);
    if (attempt.outcome.kind === 'accepted') this.#ended();
    else if (!this.#endsInOrder(answer.replies)) this.#channel.close();
    return isOfSession(attempt.outcome) ? this.#withoutChunks(attempt.outcome) : attempt;
  }

  /** Nothing was accepted, and who knows what it made of the message: it goes by DATA over another connection. */
  #withoutChunks(outcome: SendOutcome): Attempt {
    this.#chunking.giveUp();
    this.#channel.close();
    return { outcome, again: 'by DATA' };
  }

  /** Whether a message that was not accepted was refused to its end, so that the session can go on. */
  #endsInOrder(replies: readonly SmtpReply[]): boolean {
    const last = replies.at(-1);
    return replies.length === 3 && last !== undefined && last.code >= 400 && last.code !== 421;
  }

  /** The message leaves when its recipient was accepted, by DATA or, to see whether the relay knows it, by BDAT. */
  async #sendInTurns(envelope: Envelope, body: MailBody, triesChunks: boolean): Promise<Attempt> {
    try {
      const refusal = await this.#offer(envelope, triesChunks ? [] : [DATA]);
      if (refusal !== null) return this.#refused(refusal);
      if (!triesChunks) this.#channel.write(dataOf(body), 1);
      else {
        const attempt = await this.#offerFirstChunk(body);
        if (attempt !== null) return attempt;
      }
    } catch (error) {
      return lostBeforeBody(error, this.#stage);
    }
    return final(await this.#finalReply());
  }

  /**
   * The first line alone shows whether the relay takes BDAT, before the message is risked: one that does not would take its
   * lines for commands. An empty chunk would not do: Postfix refuses it. Null when the rest is on its way.
   */
  async #offerFirstChunk(body: MailBody): Promise<Attempt | null> {
    const message = octetsOf(body);
    const firstLine = firstLineOf(body);
    const chunk: Step = { stage: 'data', command: `BDAT ${firstLine}\r\n` };
    this.#stage = chunk.stage;
    this.#channel.write([chunk.command, message.subarray(0, firstLine)], 1);
    const refusal = await this.#replyTo(chunk, null);
    if (refusal !== null && refusal.reply.code >= 500) return this.#withoutChunks(refused(refusal));
    if (refusal !== null) return this.#refused(refusal);
    this.#knowsChunks = true;
    this.#channel.write([`BDAT ${body.size - firstLine} LAST\r\n`, message.subarray(firstLine)], 1);
    return null;
  }

  /** Everything up to the last reply before the body; null when the relay now waits for that. */
  async #offer(envelope: Envelope, last: readonly Step[]): Promise<Refusal | null> {
    const steps: Step[] = [
      { stage: 'mail', command: envelope.mail },
      { stage: 'rcpt', command: envelope.rcpt },
      ...last,
    ];
    if (this.#resetFirst) steps.unshift(RSET);
    this.#resetFirst = true;
    const { pipelining } = this.capabilities;
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

  #refused(refusal: Refusal): Attempt {
    const attempt = refusedBeforeBody(refusal);
    if (attempt.outcome.kind === 'route-unavailable' || isOfSession(attempt.outcome)) this.#channel.close();
    return attempt;
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
      if (!(error instanceof ConnectionLost)) throw error;
      return { kind: 'ambiguous', detail: error.message };
    }
    this.#ended();
    const outcome = outcomeOfReply(reply);
    if (reply.code === 421 || outcome.kind === 'ambiguous' || isOfSession(outcome)) this.#channel.close();
    return outcome;
  }

  /** The transaction came to its end: the next one needs no RSET. */
  #ended(): void {
    this.#resetFirst = false;
    this.#answeredAt = performance.now();
  }
}

function isWanted(step: Step, reply: SmtpReply): boolean {
  return Math.floor(reply.code / 100) === (step === DATA ? 3 : 2);
}
