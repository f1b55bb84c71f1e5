import type { SendOutcome, SmtpReply, SmtpStage } from './mail-transport.js';
import { ConnectionLost } from './smtp-channel.js';

/**
 * What came of an attempt, and whether it may be repeated over another connection, since nothing was accepted: because
 * this one may only have ended, or without another message's envelope, which the relay may mind.
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
/** What a relay says to a client it does not know, whatever the message (RFC 4954 §6, RFC 3207 §4). */
const NOT_AUTHENTICATED = new Set([530, 534, 535, 538]);
/** What it says to a command that it does not know, or not here, or not with these parameters (RFC 5321 §4.2.4, §4.1.1.11). */
const OF_COMMANDS = new Set([500, 502, 503, 504, 555]);

export function final(outcome: SendOutcome): Attempt {
  return { outcome, again: 'no' };
}

export function refused({ reply, stage }: Refusal): SendOutcome {
  if (isAboutSession(reply)) return { kind: 'temporary', reply, stage: 'session' };
  return { kind: reply.code >= 500 ? 'permanent' : 'temporary', reply, stage };
}

/** Whether the session itself is in doubt: the next message is better off in another one. */
export function isOfSession(outcome: SendOutcome): boolean {
  return outcome.kind === 'temporary' && outcome.stage === 'session';
}

/** Whether a relay may mind that an envelope left ahead: it takes the command for none of its own, or never saw it. */
export function mayMindEnvelopes(outcome: SendOutcome): boolean {
  const isSilent = outcome.kind === 'temporary' && outcome.reply.enhancedCode === NO_REPLY;
  return isSilent || isOfSession(outcome);
}

/**
 * Whether a relay refused how we speak to it (RFC 3463 §3.6), which says nothing of the message or its recipient. 501 is
 * also said of an address, by its enhanced code; and 550 is about a mailbox, whatever the enhanced code.
 */
function isAboutSession({ code, enhancedCode }: SmtpReply): boolean {
  if (OF_COMMANDS.has(code) || (code === 501 && enhancedCode === null)) return true;
  return code !== 550 && enhancedCode !== null && enhancedCode.startsWith('5.5.');
}

/** It was refused before its body counted: nothing can have been accepted. */
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
