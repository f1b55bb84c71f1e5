import { classifyRefusal, type Refusal } from './bounce-class.js';
import type { BounceClass } from './bounce-rule.js';
import { CONSEQUENCES } from './consequences.js';

/** How long a destination that refused mail for our reputation gets one mail a minute. */
export const SLOW_DOWN_MS = 90 * 60_000;

/**
 * So many reports within the time, each on another mail, slow a destination down. One does not: whoever got a mail can
 * send a report on it, and all mail to their mailbox provider would wait.
 */
export const DISTRUST_REPORTS = { enough: 3, withinMs: 60 * 60_000 } as const;

/** Greylisting asks for a second try (RFC 6647), and says nothing of the sender. */
const GREYLISTING = /\bgr[ae]y-?list/i;

/** Whether a refusal is for policy or reputation, so that its destination is to be slowed down. */
export function slowsDown(refusal: Refusal): boolean {
  return showsDistrust(classifyRefusal(refusal), refusal);
}

/** The same of a refusal that was classified, in a report say, where more than its codes was looked at. */
export function showsDistrust(bounceClass: BounceClass, { text }: Refusal): boolean {
  return CONSEQUENCES[bounceClass].stops === 'destination' && !GREYLISTING.test(text);
}
