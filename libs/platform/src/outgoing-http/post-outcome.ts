import type { OutgoingAnswer } from './outgoing-http.js';
import { OutgoingHttpError, type OutgoingHttpFault } from './outgoing-http.error.js';

/** The receiver does not want it any more (Standard Webhooks, "Disabling endpoints"). */
const GONE = 410;

/** What a post came to. `retry` may go another way next time, `final` goes the same way again. */
export interface PostOutcome {
  readonly verdict: 'taken' | 'retry' | 'final';
  /** Null when there was no answer. */
  readonly answer: Pick<OutgoingAnswer, 'status' | 'body'> | null;
  /** Why there was none. */
  readonly fault: { readonly kind: OutgoingHttpFault; readonly message: string } | null;
}

/**
 * Whether the receiver took what it was posted: any 2xx. Gone is final, and so is where we never post to. Throws what
 * is no fault of the request.
 */
export async function postOutcome(request: Promise<OutgoingAnswer>): Promise<PostOutcome> {
  try {
    const answer = await request;
    return { verdict: verdictOn(answer.status), answer, fault: null };
  } catch (error) {
    if (!(error instanceof OutgoingHttpError)) throw error;
    const { fault: kind, message } = error;
    const verdict = kind === 'address' || kind === 'url' ? 'final' : 'retry';
    return { verdict, answer: null, fault: { kind, message } };
  }
}

function verdictOn(status: number): PostOutcome['verdict'] {
  if (status >= 200 && status < 300) return 'taken';
  return status === GONE ? 'final' : 'retry';
}
