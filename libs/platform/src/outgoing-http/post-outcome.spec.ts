import { describe, expect, it } from '@jest/globals';
import { OutgoingHttpError, type OutgoingHttpFault } from './outgoing-http.error.js';
import { postOutcome } from './post-outcome.js';

const answered = (status: number) => postOutcome(Promise.resolve({ status, headers: {}, body: 'said' }));
const unanswered = (fault: OutgoingHttpFault) =>
  postOutcome(Promise.reject(new OutgoingHttpError(fault, 'No.')));

describe('what a post came to', () => {
  it.each([200, 201, 204, 299])('is taken when it is answered with %i', async (status) => {
    const answer = { status, headers: {}, body: 'said' };
    expect(await answered(status)).toEqual({ verdict: 'taken', answer, fault: null });
  });

  it.each([300, 307, 400, 404, 408, 429, 500, 503])('may be taken later when it is %i', async (status) => {
    expect(await answered(status)).toMatchObject({ verdict: 'retry', answer: { status } });
  });

  it('is final when the receiver is gone', async () => {
    expect((await answered(410)).verdict).toBe('final');
  });

  it('is final where we never post to, and may be taken later where nobody answered', async () => {
    for (const kind of ['address', 'url'] as const)
      expect(await unanswered(kind)).toEqual({
        verdict: 'final',
        answer: null,
        fault: { kind, message: 'No.' },
      });
    for (const kind of ['resolution', 'redirects', 'timeout', 'too-large', 'connection'] as const)
      expect((await unanswered(kind)).verdict).toBe('retry');
  });

  it('is not told of what is no fault of the request', async () => {
    await expect(postOutcome(Promise.reject(new Error('ours')))).rejects.toThrow('ours');
  });
});
