import { describe, expect, it } from '@jest/globals';
import type { PreSendCheck } from '#deliverability';
import { PreSendRejectedError, TooManyTestMailsError } from './campaign.errors.js';

const check = (
  severity: PreSendCheck['severity'],
  result: PreSendCheck['result'],
  message: string,
): PreSendCheck => ({ code: 'content-empty', severity, result, message });
const NO_SUBJECT = check('CRITICAL', 'FAIL', 'There is no subject.');
const CHECKS = [
  NO_SUBJECT,
  check('CRITICAL', 'PASS', 'There is a topic.'),
  check('WARNING', 'FAIL', 'There is no preview text.'),
  check('CRITICAL', 'FAIL', 'There is no sender.'),
];

describe('a campaign that may not be sent', () => {
  it('says what the critical checks found, and shows them all', () => {
    expect(new PreSendRejectedError(CHECKS)).toMatchObject({
      code: 'pre-send-rejected',
      message: 'The campaign cannot be sent: There is no subject. There is no sender.',
      members: { checks: CHECKS },
    });
  });

  it('says why the last sending failed', () => {
    expect(new PreSendRejectedError([NO_SUBJECT], 'It was missed.').message).toBe(
      'The campaign cannot be sent: There is no subject. The last sending failed: It was missed.',
    );
  });
});

describe('too many test mails', () => {
  it('are refused with how many an hour has, and when the next may go', () => {
    expect(new TooManyTestMailsError(20, 90)).toMatchObject({
      code: 'rate-limited',
      message: 'At most 20 test mails an hour.',
      members: { retryAfterSeconds: 90 },
    });
  });
});
