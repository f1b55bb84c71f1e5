import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import {
  act,
  CONFIRMATION_VALID_MS,
  CONSENT_STATUSES,
  ConsentExistsError,
  consentProof,
  subscriberStatus,
  SUPPRESSION_REASONS,
  type Consent,
  type ConsentAction,
  type ConsentOutcome,
} from './consent.js';

const start = new Date('2026-11-21T06:00:00.000Z');
const later = (ms: number) => new Date(start.getTime() + ms);
const SINGLE = { id: 't', doubleOptInEnabled: false };
const DOUBLE = { id: 't', doubleOptInEnabled: true };

/** Does some actions one after the other, each at its time; returns what became of the last. */
function after(
  topic: typeof SINGLE,
  ...actions: readonly (readonly [action: ConsentAction, ms: number])[]
): ConsentOutcome {
  const first: ConsentOutcome = { hasExpired: false, isDone: false, from: null, consent: null };
  return actions.reduce(({ consent }, [action, ms]) => act(consent, action, topic, later(ms)), first);
}

describe('a consent', () => {
  it('stands at once on a single opt-in topic', () => {
    expect(after(SINGLE, ['grant', 0])).toStrictEqual({
      hasExpired: false,
      isDone: true,
      from: null,
      consent: {
        topicId: 't',
        status: 'SUBSCRIBED',
        grantedAt: start,
        confirmedAt: null,
        revokedAt: null,
        tokenExpiresAt: null,
        subscribedAt: start,
      },
    });
  });

  it('waits 48 hours for its confirmation on a double opt-in topic', () => {
    expect(after(DOUBLE, ['grant', 0]).consent).toMatchObject({
      status: 'PENDING_CONFIRMATION',
      grantedAt: start,
      tokenExpiresAt: later(CONFIRMATION_VALID_MS),
      subscribedAt: null,
    });
    const confirmed = after(DOUBLE, ['grant', 0], ['confirm', CONFIRMATION_VALID_MS - 1]);
    expect(confirmed).toMatchObject({ isDone: true, from: 'PENDING_CONFIRMATION' });
    expect(confirmed.consent).toMatchObject({
      status: 'SUBSCRIBED',
      grantedAt: start,
      confirmedAt: later(CONFIRMATION_VALID_MS - 1),
      tokenExpiresAt: null,
    });
  });

  it('cannot be confirmed once its 48 hours are over', () => {
    const outcome = after(DOUBLE, ['grant', 0], ['confirm', CONFIRMATION_VALID_MS]);
    expect(outcome).toMatchObject({ hasExpired: true, isDone: false, from: 'EXPIRED' });
    expect(outcome.consent?.status).toBe('EXPIRED');
  });

  it('cannot be granted while it stands or waits', () => {
    for (const topic of [SINGLE, DOUBLE]) {
      for (const action of ['grant', 'offer'] as const)
        expect(after(topic, ['grant', 0], [action, 1])).toMatchObject({ isDone: false, hasExpired: false });
    }
  });

  it('can be granted anew when it was revoked, and forgets the revocation only when it stands', () => {
    const revoked = after(SINGLE, ['grant', 0], ['revoke', 1]).consent;
    expect(revoked).toMatchObject({ status: 'UNSUBSCRIBED', revokedAt: later(1), subscribedAt: null });
    const pending = act(revoked, 'grant', DOUBLE, later(2)).consent;
    expect(pending).toMatchObject({ grantedAt: later(2), revokedAt: later(1) });
    expect(act(pending, 'confirm', DOUBLE, later(3)).consent).toMatchObject({
      status: 'SUBSCRIBED',
      revokedAt: null,
      subscribedAt: later(3),
    });
  });

  it('that was revoked is not granted by an import or an automation; one that ran out is', () => {
    expect(after(SINGLE, ['grant', 0], ['revoke', 1], ['offer', 2])).toMatchObject({
      isDone: false,
      from: 'UNSUBSCRIBED',
    });
    const [ofEither, overdue] = [after(DOUBLE, ['offer', 0]), CONFIRMATION_VALID_MS];
    expect(ofEither).toEqual(after(DOUBLE, ['grant', 0]));
    expect(after(DOUBLE, ['offer', 0], ['offer', overdue])).toMatchObject({ hasExpired: true, isDone: true });
  });

  it('stands by the link of a mail without being confirmed again, whatever it was before', () => {
    const paths: readonly (readonly [ConsentAction, number])[][] = [
      [],
      [['grant', 0]],
      [
        ['grant', 0],
        ['revoke', 1],
      ],
    ];
    for (const path of paths) {
      expect(after(DOUBLE, ...path, ['join', 5])).toMatchObject({ isDone: true });
      expect(after(DOUBLE, ...path, ['join', 5]).consent).toMatchObject({
        status: 'SUBSCRIBED',
        confirmedAt: later(5),
        revokedAt: null,
      });
      expect(after(DOUBLE, ...path, ['join', 5], ['join', 6]).isDone).toBe(false);
    }
    // One that waited is confirmed by it, and was given when it was.
    expect(after(DOUBLE, ['grant', 0], ['join', 5]).consent?.grantedAt).toEqual(start);
    expect(after(DOUBLE, ['join', 5]).consent?.grantedAt).toEqual(later(5));
  });

  it('waits another 48 hours when a new mail asks for its confirmation, also after the first ones', () => {
    const again = after(DOUBLE, ['grant', 0], ['askAgain', 1_000]);
    expect(again).toMatchObject({ isDone: true, from: 'PENDING_CONFIRMATION' });
    expect(again.consent?.tokenExpiresAt).toEqual(later(1_000 + CONFIRMATION_VALID_MS));
    const late = CONFIRMATION_VALID_MS + 1;
    expect(after(DOUBLE, ['grant', 0], ['askAgain', late])).toMatchObject({ hasExpired: true, isDone: true });
    const confirmed = after(DOUBLE, ['grant', 0], ['askAgain', late], ['confirm', 2 * CONFIRMATION_VALID_MS]);
    expect(confirmed.isDone).toBe(true);
    expect(after(DOUBLE, ['grant', 0], ['confirm', 1], ['askAgain', 2]).isDone).toBe(false);
  });

  const action = fc.constantFrom(
    ...(['grant', 'offer', 'join', 'confirm', 'askAgain', 'revoke', 'expire'] as const),
  );
  const topic = fc.constantFrom(SINGLE, DOUBLE);
  const steps = fc.array(fc.tuple(action, topic, fc.integer({ min: 0, max: 40 * 3_600_000 })), {
    maxLength: 40,
  });

  function expectTimesOf({ status, grantedAt, revokedAt, tokenExpiresAt, subscribedAt }: Consent): void {
    expect(grantedAt).not.toBeNull();
    expect(subscribedAt !== null).toBe(status === 'SUBSCRIBED');
    if (status === 'SUBSCRIBED') expect(revokedAt).toBeNull();
    if (status === 'UNSUBSCRIBED') expect(revokedAt).not.toBeNull();
    if (status === 'PENDING_CONFIRMATION') expect(tokenExpiresAt).not.toBeNull();
  }

  it('always has the times that its status implies, and changes by the known ways alone', () => {
    const allowed = new Set([
      'null→SUBSCRIBED',
      'null→PENDING_CONFIRMATION',
      'PENDING_CONFIRMATION→SUBSCRIBED',
      'PENDING_CONFIRMATION→UNSUBSCRIBED',
      'SUBSCRIBED→UNSUBSCRIBED',
      'UNSUBSCRIBED→SUBSCRIBED',
      'UNSUBSCRIBED→PENDING_CONFIRMATION',
      'EXPIRED→SUBSCRIBED',
      'EXPIRED→PENDING_CONFIRMATION',
    ]);
    fc.assert(
      fc.property(steps, (sequence) => {
        let consent: Consent | null = null;
        let now = start;
        for (const [name, given, wait] of sequence) {
          now = new Date(now.getTime() + wait);
          const before: Consent | null = consent;
          const outcome: ConsentOutcome = act(before, name, given, now);
          const { from, hasExpired, isDone } = outcome;
          consent = outcome.consent;
          expect(from).toBe(hasExpired ? 'EXPIRED' : (before?.status ?? null));
          if (hasExpired) expect(before?.status).toBe('PENDING_CONFIRMATION');
          if (isDone && consent?.status !== from) expect(allowed).toContain(`${from}→${consent?.status}`);
          if (!isDone) expect(consent).toEqual(hasExpired ? { ...before, status: 'EXPIRED' } : before);
          if (consent !== null) expectTimesOf(consent);
        }
      }),
    );
  });
});

describe('the status of a subscriber', () => {
  it('follows from the suppression of the address before all else', () => {
    for (const consents of [[], ['SUBSCRIBED'], CONSENT_STATUSES] as const) {
      expect(SUPPRESSION_REASONS.map((reason) => subscriberStatus(reason, consents))).toEqual([
        'SUPPRESSED',
        'COMPLAINED',
        'BOUNCED',
        'SUPPRESSED',
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

describe('the proof of a consent', () => {
  const unknown = {
    source: null,
    sourceUrl: null,
    ipAddress: null,
    userAgent: null,
    consentText: null,
    formVersion: null,
    messageId: null,
    wording: null,
  };

  it('keeps what the actor told', () => {
    const told = {
      source: 'form',
      sourceUrl: 'https://example.com/news',
      ipAddress: '192.0.2.1',
      userAgent: 'Browser',
      consentText: 'Yes, send me news.',
      formVersion: '7',
      messageId: '<m@example.com>',
      wording: { locale: 'de', version: 2 },
    };
    expect(consentProof('API_KEY', 'key', told)).toEqual({ actor: 'API_KEY', actorId: 'key', ...told });
  });

  it('says of what the actor left out that it is unknown', () => {
    expect(consentProof('EXPIRY', null)).toEqual({ actor: 'EXPIRY', actorId: null, ...unknown });
    expect(consentProof('IMPORT', 'import', { source: 'file', ipAddress: undefined })).toEqual({
      actor: 'IMPORT',
      actorId: 'import',
      ...unknown,
      source: 'file',
    });
  });
});

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
});
