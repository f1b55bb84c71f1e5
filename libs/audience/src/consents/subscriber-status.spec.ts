import { describe, expect, it } from '@jest/globals';
import { CONSENT_STATUSES } from './consent.js';
import { subscriberStatus, SUPPRESSION_REASONS } from './subscriber-status.js';

describe('the status of a subscriber', () => {
  it('follows from the suppression of the address before all else', () => {
    for (const consents of [[], ['SUBSCRIBED'], CONSENT_STATUSES] as const) {
      expect(SUPPRESSION_REASONS.map((reason) => subscriberStatus(reason, consents))).toEqual([
        'SUPPRESSED',
        'COMPLAINED',
        'BOUNCED',
      ]);
    }
  });

  it('follows from the best of the consents, and is UNSUBSCRIBED without one that stands or waits', () => {
    expect(subscriberStatus(null, CONSENT_STATUSES)).toBe('ACTIVE');
    expect(subscriberStatus(null, ['EXPIRED', 'PENDING_CONFIRMATION'])).toBe('PENDING_CONFIRMATION');
    expect(subscriberStatus(null, ['EXPIRED', 'UNSUBSCRIBED'])).toBe('UNSUBSCRIBED');
    expect(subscriberStatus(null, [])).toBe('UNSUBSCRIBED');
  });
});
