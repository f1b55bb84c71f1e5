import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import type { Consent, ConsentStatus } from '../consents/consent.js';
import {
  type Confirmation,
  confirmationState,
  coveredBy,
  repeatsCountSince,
  ResendTooSoonError,
  secondsUntilRepeat,
} from './confirmation.js';

const now = new Date('2026-11-21T06:00:00.000Z');
const ago = (seconds: number) => new Date(now.getTime() - seconds * 1_000);

const HOUR = 3_600;

function consentTo(topicId: string, status: ConsentStatus, grantedAt: Date | null): Consent {
  const times = { grantedAt, confirmedAt: null, revokedAt: null, tokenExpiresAt: null, subscribedAt: null };
  return { topicId, status, ...times };
}

describe('the link of a confirmation mail', () => {
  const confirmation: Confirmation = {
    confirmationId: 'c',
    subscriberId: 's',
    topicIds: ['news', 'offers'],
    createdAt: ago(HOUR),
    expiresAt: ago(-47 * HOUR),
  };
  const state = (statuses: readonly ConsentStatus[], at = now) =>
    confirmationState(
      confirmation,
      statuses.map((status) => consentTo('news', status, ago(HOUR))),
      at,
    );

  it('covers what it was sent for, and nothing that was not given before it', () => {
    const covered = [
      consentTo('news', 'PENDING_CONFIRMATION', ago(2 * HOUR)),
      consentTo('offers', 'PENDING_CONFIRMATION', ago(HOUR)),
    ];
    const others = [
      consentTo('events', 'PENDING_CONFIRMATION', ago(2 * HOUR)),
      consentTo('news', 'PENDING_CONFIRMATION', ago(HOUR - 1)),
      consentTo('news', 'UNSUBSCRIBED', null),
    ];
    const found = coveredBy(confirmation, [...others, ...covered]);
    expect(found.map((consent) => covered.indexOf(consent))).toEqual([0, 1]);
  });

  it.each([
    [['PENDING_CONFIRMATION'], 'open'],
    [['SUBSCRIBED', 'PENDING_CONFIRMATION'], 'open'],
    [['SUBSCRIBED', 'UNSUBSCRIBED'], 'confirmed'],
    [['UNSUBSCRIBED', 'UNSUBSCRIBED'], 'gone'],
    [[], 'gone'],
  ] as const)('with consents that are %j is %s', (statuses, expected) => {
    expect(state(statuses)).toBe(expected);
  });

  it('expires after its time, while a consent waits for it', () => {
    const late = confirmation.expiresAt;
    expect(state(['PENDING_CONFIRMATION'], new Date(late.getTime() - 1))).toBe('open');
    expect(state(['PENDING_CONFIRMATION'], late)).toBe('expired');
    expect(state(['EXPIRED', 'SUBSCRIBED'], late)).toBe('expired');
    expect(state(['SUBSCRIBED'], late)).toBe('confirmed');
  });
});

describe('repeating a confirmation mail', () => {
  it('counts what was repeated within a day', () => {
    expect(repeatsCountSince(now)).toEqual(ago(24 * HOUR));
  });

  it('is free at first', () => {
    expect(secondsUntilRepeat([], now)).toBe(0);
  });

  it('waits for the rest of a minute', () => {
    expect(secondsUntilRepeat([ago(0)], now)).toBe(60);
    expect(secondsUntilRepeat([ago(59)], now)).toBe(1);
    expect(secondsUntilRepeat([ago(60)], now)).toBe(0);
  });

  it('waits until the fifth last is a day old', () => {
    const day = 86_400;
    expect(secondsUntilRepeat([ago(100), ago(200), ago(300), ago(400)], now)).toBe(0);
    expect(secondsUntilRepeat([ago(100), ago(200), ago(300), ago(400), ago(1_000)], now)).toBe(day - 1_000);
    expect(secondsUntilRepeat([ago(100), ago(200), ago(300), ago(400), ago(day)], now)).toBe(0);
  });

  it('never allows more than five a day or two a minute, however impatient the caller', () => {
    fc.assert(
      fc.property(fc.array(fc.integer({ min: 1, max: 7_200 }), { maxLength: 200 }), (waits) => {
        const sent: Date[] = [];
        let at = now.getTime();
        for (const wait of waits) {
          at += wait * 1_000;
          if (secondsUntilRepeat(sent, new Date(at)) === 0) sent.push(new Date(at));
        }
        for (const [index, time] of sent.entries()) {
          const within = (seconds: number) =>
            sent.slice(0, index + 1).filter((other) => other.getTime() > time.getTime() - seconds * 1_000)
              .length;
          expect(within(60)).toBe(1);
          expect(within(86_400)).toBeLessThanOrEqual(5);
        }
      }),
    );
  });
});

describe('who asks once more', () => {
  it('for a confirmation mail too soon is told when it may be', () => {
    const error = new ResendTooSoonError(42);
    expect(error).toMatchObject({ code: 'rate-limited', members: { retryAfterSeconds: 42 } });
    expect(error.message).toBe('The confirmation mail was sent too recently or too often.');
  });
});
