import type { SendOutcome, SmtpReply, SmtpStage } from './mail-transport.js';
import { ConnectionLost, type Replies } from './smtp-channel.js';

/** What came of an attempt. It may be repeated on another connection when this one ended before anything was accepted. */
export interface Attempt {
  readonly outcome: SendOutcome;
  readonly repeatable: boolean;
}

/** The reply by which a relay refused a message. */
export interface Refusal {
  readonly reply: SmtpReply;
  readonly stage: SmtpStage;
}

/** What a relay says to a client it does not know, whatever the message (RFC 4954 §6, RFC 3207 §4). */
const NOT_AUTHENTICATED = new Set([530, 534, 535, 538]);
/** Of MAIL, RCPT and BDAT that left together. */
const STAGES: readonly SmtpStage[] = ['mail', 'rcpt', 'body'];

export function final(outcome: SendOutcome): Attempt {
  return { outcome, repeatable: false };
}

export function refused({ reply, stage }: Refusal): SendOutcome {
  return { kind: reply.code >= 500 ? 'permanent' : 'temporary', reply, stage };
}

/** It was refused before its body counted: nothing can have been accepted. */
export function refusedBeforeBody(refusal: Refusal): Attempt {
  const { code, text } = refusal.reply;
  if (!NOT_AUTHENTICATED.has(code)) return { outcome: refused(refusal), repeatable: code === 421 };
  return final({ kind: 'route-unavailable', stage: 'auth', detail: `${code} ${text}` });
}

export function lostBeforeBody(error: unknown, stage: SmtpStage): Attempt {
  if (!(error instanceof ConnectionLost)) throw error;
  const reply = { code: 421, enhancedCode: error.timedOut ? '4.4.1' : '4.4.2', text: error.message };
  return { outcome: { kind: 'temporary', reply, stage }, repeatable: !error.timedOut };
}

/** The reply to the whole message. */
export function outcomeOfReply(reply: SmtpReply): SendOutcome {
  if (reply.code < 300) return { kind: 'accepted', response: responseOf(reply) };
  if (reply.code >= 400) return refused({ reply, stage: 'body' });
  return { kind: 'ambiguous', detail: `The relay answered ${reply.code} to the message.` };
}

/**
 * Of a message that left with its envelope. The first refusal counts, whatever comes after it; without one, the last
 * reply does, and until it is there nobody knows whether the message was accepted.
 */
export function outcomeOfReplies({ replies, lost }: Replies): Attempt {
  for (const [at, reply] of replies.entries()) {
    const stage = STAGES[at] ?? 'body';
    if (stage === 'body') return final(outcomeOfReply(reply));
    if (reply.code >= 400) return refusedBeforeBody({ reply, stage });
    if (reply.code >= 300) return final({ kind: 'ambiguous', detail: `The relay answered ${reply.code}.` });
  }
  return final({ kind: 'ambiguous', detail: lost?.message ?? 'The relay did not reply.' });
}

function responseOf({ code, enhancedCode, text }: SmtpReply): string {
  return [code, enhancedCode, text].filter(Boolean).join(' ');
}
