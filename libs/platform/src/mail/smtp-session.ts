import type { MailBody } from '#kernel';
import type { NextMessage, OutgoingMessage, SendOutcome, SmtpReply, SmtpStage } from './mail-transport.js';
import { ConnectionLost, type SmtpChannel } from './smtp-channel.js';
import { bodyOf, type Capabilities, dataOf, type Envelope, envelopeFor } from './smtp-message.js';

/**
 * Result of an attempt. It may be made `again`, since nothing was accepted, over another connection where this one may only have
 * ended, or `alone`, without another message's envelope, which the relay may mind.
 */
export interface Attempt {
  readonly outcome: SendOutcome;
  readonly again: 'no' | 'reconnected' | 'alone';
}

/** The reply by which a relay refused a message. */
export interface Refusal {
  readonly reply: SmtpReply;
  readonly stage: SmtpStage;
}

/** Stands for a reply that did not come in time (RFC 3463 §3.5). */
const NO_REPLY = '4.4.1';
/** Replies to an unknown client, whatever the message (RFC 4954 §6, RFC 3207 §4). */
const NOT_AUTHENTICATED = new Set([530, 534, 535, 538]);
/** Replies to a command that is unknown, here or with these parameters (RFC 5321 §4.2.4, §4.1.1.11). */
const OF_COMMANDS = new Set([500, 502, 503, 504, 555]);

export function final(outcome: SendOutcome): Attempt {
  return { outcome, again: 'no' };
}

export function refused({ reply, stage }: Refusal): SendOutcome {
  if (isAboutSession(reply)) return { kind: 'temporary', reply, stage: 'session' };
  return { kind: reply.code >= 500 ? 'permanent' : 'temporary', reply, stage };
}

/** True if the session itself is in doubt: the next message is better off in another one. */
export function isOfSession(outcome: SendOutcome): boolean {
  return outcome.kind === 'temporary' && outcome.stage === 'session';
}

/** True if a relay may mind that an envelope left ahead: it does not know the command, or never saw it. */
export function mayMindEnvelopes(outcome: SendOutcome): boolean {
  const isSilent = outcome.kind === 'temporary' && outcome.reply.enhancedCode === NO_REPLY;
  return isSilent || isOfSession(outcome);
}

/**
 * True if a relay refused the way we speak to it (RFC 3463 §3.6), not the message or its recipient. 501 may also be about an
 * address, by its enhanced code; 550 is about a mailbox, whatever the enhanced code.
 */
function isAboutSession({ code, enhancedCode }: SmtpReply): boolean {
  if (OF_COMMANDS.has(code) || (code === 501 && enhancedCode === null)) return true;
  return code !== 550 && enhancedCode !== null && enhancedCode.startsWith('5.5.');
}

/** A refusal before the body: nothing can have been accepted. */
export function refusedBeforeBody(refusal: Refusal): Attempt {
  const { code, text } = refusal.reply;
  const outcome = refused(refusal);
  if (!NOT_AUTHENTICATED.has(code))
    return { outcome, again: code === 421 || isOfSession(outcome) ? 'reconnected' : 'no' };
  return final({ kind: 'route-unavailable', stage: 'auth', detail: `${code} ${text}` });
}

export function lostBeforeBody(error: unknown, stage: SmtpStage): Attempt {
  if (!(error instanceof ConnectionLost)) throw error;
  const reply = { code: 421, enhancedCode: error.timedOut ? NO_REPLY : '4.4.2', text: error.message };
  return { outcome: { kind: 'temporary', reply, stage }, again: error.timedOut ? 'no' : 'reconnected' };
}

/** The reply to the whole message. */
export function outcomeOfReply(reply: SmtpReply): SendOutcome {
  if (reply.code < 300) return { kind: 'accepted', reply };
  if (reply.code >= 400) return refused({ reply, stage: 'body' });
  return { kind: 'ambiguous', detail: `The relay answered ${reply.code} to the message.` };
}

interface Step {
  readonly stage: SmtpStage;
  readonly command: string;
}

const RSET: Step = { stage: 'mail', command: 'RSET\r\n' };
const DATA: Step = { stage: 'data', command: 'DATA\r\n' };

/** Mail transactions over one connection, one after the other. */
export class SmtpSession {
  #transactions = 0;
  #stage: SmtpStage = 'mail';
  #resetFirst = false;
  #offered: OutgoingMessage | null = null;

  /** `timeouts`: in milliseconds, for each reply up to the 354, and for that to the message. */
  constructor(
    private readonly channel: SmtpChannel,
    readonly capabilities: Capabilities,
    private readonly timeouts: { readonly reply: number; readonly data: number },
  ) {}

  get usable(): boolean {
    return this.channel.usable;
  }

  /** Number of transactions that were begun. */
  get transactions(): number {
    return this.#transactions;
  }

  /** The message whose envelope left with the one before: it is sent next, or the session ended. */
  get offered(): OutgoingMessage | null {
    return this.#offered;
  }

  async send(message: OutgoingMessage, next: NextMessage): Promise<Attempt> {
    const body = bodyIn(message);
    const envelope = envelopeFor(message, body, this.capabilities);
    if ('reply' in envelope) return final(refused(envelope));
    this.#transactions++;
    const isAhead = this.#offered !== null;
    this.#offered = null;
    const attempt = await this.#send(envelope, body, isAhead, next);
    const wasAlone = !isAhead && this.#offered === null;
    return wasAlone || !mayMindEnvelopes(attempt.outcome) ? attempt : { ...attempt, again: 'alone' };
  }

  async quit(): Promise<void> {
    // A relay that waits for a message takes no command.
    if (this.#offered !== null) this.channel.close();
    await this.channel.quit();
  }

  /** The message leaves when its recipient was accepted. */
  async #send(envelope: Envelope, body: MailBody, isAhead: boolean, next: NextMessage): Promise<Attempt> {
    try {
      const refusal = await this.#offer(envelope, isAhead);
      if (refusal !== null) return this.#refused(refusal);
      this.#writeMessage(body, this.capabilities.pipelining ? next() : undefined);
    } catch (error) {
      return lostBeforeBody(error, this.#stage);
    }
    return final(await this.#finalReply());
  }

  /** The message and the envelope of the next in one write (RFC 2920 §3.1). */
  #writeMessage(body: MailBody, next: OutgoingMessage | undefined): void {
    const envelope = next && envelopeFor(next, bodyIn(next), this.capabilities);
    if (next === undefined || envelope === undefined || 'reply' in envelope)
      return this.channel.write(dataOf(body), 1);
    const commands = Buffer.from(`${envelope.mail}${envelope.rcpt}${DATA.command}`);
    this.channel.write(dataOf(body).concat(commands), 4);
    this.#offered = next;
  }

  /** Everything up to the last reply before the body; null when the relay now waits for that. */
  async #offer(envelope: Envelope, isAhead: boolean): Promise<Refusal | null> {
    const steps: Step[] = [
      { stage: 'mail', command: envelope.mail },
      { stage: 'rcpt', command: envelope.rcpt },
      DATA,
    ];
    if (this.#resetFirst) steps.unshift(RSET);
    this.#resetFirst = true;
    const { pipelining } = this.capabilities;
    if (pipelining && !isAhead) this.channel.write(steps.map((step) => step.command).join(''), steps.length);
    let refusal: Refusal | null = null;
    for (const step of steps) {
      if (!pipelining && refusal !== null) break;
      if (!pipelining) this.channel.write(step.command, 1);
      this.#stage = step.stage;
      refusal = await this.#replyTo(step, refusal);
      if (!this.channel.usable && refusal !== null) break;
    }
    return refusal;
  }

  /** Reads the reply to one step; the first refusal of a group is the one that counts. */
  async #replyTo(step: Step, earlier: Refusal | null): Promise<Refusal | null> {
    let reply: SmtpReply;
    try {
      reply = await this.channel.reply(this.timeouts.reply);
    } catch (error) {
      if (earlier !== null) return earlier;
      throw error;
    }
    if (reply.code === 421) this.channel.close();
    if (isWanted(step, reply)) {
      if (step === DATA && earlier !== null) await this.#endEmptyMessage(earlier);
      return earlier;
    }
    if (earlier !== null) return earlier;
    if (reply.code >= 400 && step !== RSET) return { reply, stage: step.stage };
    this.channel.close();
    throw new ConnectionLost(`The relay answered ${reply.code}, which has no meaning here.`);
  }

  /**
   * Gives an empty message to a relay that waits for one although it refused the recipient (RFC 2920 §3.1). One that
   * refused even the sender is not trusted that far.
   */
  async #endEmptyMessage(refusal: Refusal): Promise<void> {
    if (refusal.stage !== 'rcpt') return this.channel.close();
    try {
      this.channel.write('.\r\n', 1);
      await this.channel.reply(this.timeouts.reply);
    } catch {
      // The refusal stands, even if the session does not survive.
    }
  }

  #refused(refusal: Refusal): Attempt {
    const attempt = refusedBeforeBody(refusal);
    if (attempt.outcome.kind === 'route-unavailable' || isOfSession(attempt.outcome)) this.channel.close();
    return attempt;
  }

  /** Outcome of the body, which left in one write: without a reply it is ambiguous, even if the connection broke early. */
  async #finalReply(): Promise<SendOutcome> {
    this.#stage = 'body';
    let reply: SmtpReply;
    try {
      reply = await this.channel.reply(this.timeouts.data);
    } catch (error) {
      if (!(error instanceof ConnectionLost)) throw error;
      return { kind: 'ambiguous', detail: error.message };
    }
    // The transaction came to its end: the next one needs no RSET.
    this.#resetFirst = false;
    const outcome = outcomeOfReply(reply);
    if (reply.code === 421 || outcome.kind === 'ambiguous' || isOfSession(outcome)) this.channel.close();
    return outcome;
  }
}

function isWanted(step: Step, reply: SmtpReply): boolean {
  return Math.floor(reply.code / 100) === (step === DATA ? 3 : 2);
}

function bodyIn({ raw }: OutgoingMessage): MailBody {
  return Buffer.isBuffer(raw) ? bodyOf(raw) : raw;
}
