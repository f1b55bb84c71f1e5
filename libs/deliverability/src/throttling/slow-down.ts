import { classifyRefusal, type Refusal } from '../bounces/bounce-class.js';

/** How long a destination that refused mail for our reputation gets one mail a minute. */
export const SLOW_DOWN_MS = 90 * 60_000;

/** Greylisting asks for a second try (RFC 6647), and says nothing of the sender. */
const GREYLISTING = /\bgr[ae]y-?list/i;

/** Whether a refusal is for policy or reputation, so that its destination is to be slowed down. */
export function slowsDown(refusal: Refusal): boolean {
  return classifyRefusal(refusal) === 'policy' && !GREYLISTING.test(refusal.text);
}
