import { describe, expect, it } from '@jest/globals';
import { ConsentExistsError, ResendTooSoonError } from './sign-up.errors.js';

describe('who asks once more', () => {
  it.each([
    ['SUBSCRIBED', 'The subscriber has consented to this topic already.'],
    [
      'PENDING_CONFIRMATION',
      'The consent waits for its confirmation; use resend to send the confirmation mail again.',
    ],
  ] as const)('for a consent that is %s is told so', (status, message) => {
    expect(new ConsentExistsError(status)).toMatchObject({ code: 'already-exists', message });
  });

  it('for a confirmation mail too soon is told when it may be', () => {
    const error = new ResendTooSoonError(42);
    expect(error).toMatchObject({ code: 'rate-limited', members: { retryAfterSeconds: 42 } });
    expect(error.message).toBe('The confirmation mail was sent too recently or too often.');
  });
});
