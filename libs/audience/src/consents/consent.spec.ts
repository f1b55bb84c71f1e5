import { describe, expect, it } from '@jest/globals';
import { InvalidStateError } from '#kernel';
import * as fc from '#testing/properties';
import { CONFIRMATION_VALID_MS, Consent } from './consent.js';
import { ConsentExistsError, ResendTooSoonError } from './consent.errors.js';

const start = new Date('2026-11-21T06:00:00.000Z');
const later = (ms: number) => new Date(start.getTime() + ms);

describe('Consent', () => {
  it('stands at once on a single opt-in topic', () => {
    const consent = new Consent('t', null);
    consent.grant(false, start);
    expect(consent.state).toEqual({
      status: 'SUBSCRIBED',
      grantedAt: start,
      confirmedAt: null,
      revokedAt: null,
      tokenExpiresAt: null,
      subscribedAt: start,
    });
    expect(consent.changes).toEqual([{ from: null, to: 'SUBSCRIBED' }]);
  });

  it('waits 48 hours for its confirmation on a double opt-in topic', () => {
    const consent = new Consent('t', null);
    consent.grant(true, start);
    expect(consent.state).toMatchObject({
      status: 'PENDING_CONFIRMATION',
      grantedAt: start,
      subscribedAt: null,
    });
    expect(consent.confirm(later(CONFIRMATION_VALID_MS - 1))).toBe(true);
    expect(consent.state).toMatchObject({
      status: 'SUBSCRIBED',
      grantedAt: start,
      confirmedAt: later(CONFIRMATION_VALID_MS - 1),
      tokenExpiresAt: null,
    });
  });

  it('cannot be confirmed once its 48 hours are over', () => {
    const consent = new Consent('t', null);
    consent.grant(true, start);
    expect(consent.confirm(later(CONFIRMATION_VALID_MS))).toBe(false);
    expect(consent.status).toBe('EXPIRED');
  });

  it('cannot be granted while it stands or waits', () => {
    for (const doubleOptIn of [true, false]) {
      const consent = new Consent('t', null);
      consent.grant(doubleOptIn, start);
      expect(() => consent.grant(doubleOptIn, start)).toThrow(ConsentExistsError);
    }
  });

  it('can be granted anew when it was revoked, and forgets the revocation only when it stands', () => {
    const consent = new Consent('t', null);
    consent.grant(false, start);
    expect(consent.revoke(later(1))).toBe(true);
    expect(consent.state).toMatchObject({ status: 'UNSUBSCRIBED', revokedAt: later(1), subscribedAt: null });
    consent.grant(true, later(2));
    expect(consent.state).toMatchObject({ grantedAt: later(2), revokedAt: later(1) });
    consent.confirm(later(3));
    expect(consent.state).toMatchObject({ status: 'SUBSCRIBED', revokedAt: null, subscribedAt: later(3) });
  });

  it('gives a resent mail another 48 hours, but only while it waits', () => {
    const consent = new Consent('t', null);
    consent.grant(true, start);
    consent.resend(later(1_000));
    expect(consent.state?.tokenExpiresAt).toEqual(later(1_000 + CONFIRMATION_VALID_MS));
    expect(consent.changes).toHaveLength(1);
    consent.confirm(later(2_000));
    expect(() => consent.resend(later(3_000))).toThrow(InvalidStateError);
  });

  it('waits again when the owner of the address asks for a new mail after 48 hours', () => {
    const consent = new Consent('t', null);
    consent.grant(true, start);
    const afterwards = later(CONFIRMATION_VALID_MS + 1);
    expect(consent.askAgain(afterwards)).toBe(true);
    expect(consent.changes.map(({ to }) => to)).toEqual([
      'PENDING_CONFIRMATION',
      'EXPIRED',
      'PENDING_CONFIRMATION',
    ]);
    expect(consent.confirm(later(2 * CONFIRMATION_VALID_MS))).toBe(true);
  });

  it('can be granted anew when its 48 hours are over', () => {
    const consent = new Consent('t', null);
    consent.grant(true, start);
    consent.grant(false, later(CONFIRMATION_VALID_MS));
    expect(consent.changes.map(({ to }) => to)).toEqual(['PENDING_CONFIRMATION', 'EXPIRED', 'SUBSCRIBED']);
  });

  it('says whether it stands already or still waits when it is granted once more', () => {
    const [standing, waiting] = [new Consent('t', null), new Consent('t', null)];
    standing.grant(false, start);
    waiting.grant(true, start);
    expect(() => standing.grant(false, start)).toThrow(
      expect.objectContaining({
        code: 'already-exists',
        message: 'The subscriber has consented to this topic already.',
      }),
    );
    expect(() => waiting.grant(false, start)).toThrow(
      'The consent waits for its confirmation; use resend to send the confirmation mail again.',
    );
  });

  it.each([true, false])(
    'stands at once when its owner joins by a link of a mail (double opt-in: %s)',
    (double) => {
      const consent = new Consent('t', null);
      expect(consent.join(double, start)).toBe(true);
      expect(consent.state).toEqual({
        status: 'SUBSCRIBED',
        grantedAt: start,
        confirmedAt: double ? start : null,
        revokedAt: null,
        tokenExpiresAt: null,
        subscribedAt: start,
      });
      expect(consent.join(double, later(1))).toBe(false);
      expect(consent.changes).toEqual([{ from: null, to: 'SUBSCRIBED' }]);
    },
  );

  it('is confirmed when its owner joins while it waits, and given anew when they come back', () => {
    const consent = new Consent('t', null);
    consent.grant(true, start);
    expect(consent.join(true, later(1))).toBe(true);
    expect(consent.state).toMatchObject({ grantedAt: start, confirmedAt: later(1) });
    consent.revoke(later(2));
    expect(consent.join(true, later(3))).toBe(true);
    expect(consent.state).toMatchObject({ grantedAt: later(3), confirmedAt: later(3), revokedAt: null });
  });

  it('is confirmed and run out once only', () => {
    const consent = new Consent('t', null);
    expect([consent.confirm(start), consent.expire(start)]).toEqual([false, false]);
    consent.grant(true, start);
    expect(consent.expire(later(CONFIRMATION_VALID_MS - 1))).toBe(false);
    expect(consent.expire(later(CONFIRMATION_VALID_MS))).toBe(true);
    expect(consent.expire(later(CONFIRMATION_VALID_MS))).toBe(false);
    expect(consent.state).toMatchObject({ tokenExpiresAt: later(CONFIRMATION_VALID_MS) });
  });

  it('that waits without an end does not run out', () => {
    const times = { grantedAt: start, confirmedAt: null, revokedAt: null, subscribedAt: null };
    const consent = new Consent('t', { ...times, status: 'PENDING_CONFIRMATION', tokenExpiresAt: null });
    expect(consent.expire(later(10 * CONFIRMATION_VALID_MS))).toBe(false);
  });

  it('has no link that is sent again once its 48 hours are over, or before it is given', () => {
    const refusal = (currentState: string) =>
      expect.objectContaining({
        message: 'Only a pending consent waits for a confirmation mail.',
        currentState,
        allowedStates: ['PENDING_CONFIRMATION'],
      });
    const consent = new Consent('t', null);
    expect(() => consent.resend(start)).toThrow(refusal('UNSUBSCRIBED'));
    consent.grant(true, start);
    expect(() => consent.resend(later(CONFIRMATION_VALID_MS))).toThrow(refusal('EXPIRED'));
  });

  it('gives a new link to its owner only while there is something to confirm', () => {
    const consent = new Consent('t', null);
    expect(consent.askAgain(start)).toBe(false);
    consent.grant(true, start);
    expect(consent.askAgain(later(1))).toBe(true);
    expect(consent.state?.tokenExpiresAt).toEqual(later(1 + CONFIRMATION_VALID_MS));
    expect(consent.changes).toHaveLength(1);
    consent.confirm(later(2));
    expect(consent.askAgain(later(3))).toBe(false);
    consent.revoke(later(4));
    expect(consent.askAgain(later(5))).toBe(false);
    expect(consent.changes).toHaveLength(3);
  });

  it('is taken back while it stands or waits, and then no more', () => {
    const consent = new Consent('t', null);
    expect(consent.revoke(start)).toBe(false);
    consent.grant(true, start);
    expect(consent.revoke(later(1))).toBe(true);
    expect(consent.state).toMatchObject({
      status: 'UNSUBSCRIBED',
      revokedAt: later(1),
      tokenExpiresAt: null,
    });
    expect(consent.revoke(later(2))).toBe(false);
    consent.grant(true, later(3));
    expect(consent.revoke(later(3 + CONFIRMATION_VALID_MS))).toBe(false);
    expect(consent.status).toBe('EXPIRED');
  });

  it.each([
    [null, false, false],
    ['PENDING_CONFIRMATION', true, true],
    ['SUBSCRIBED', true, false],
    ['UNSUBSCRIBED', false, false],
    ['EXPIRED', false, true],
  ] as const)('that is %s is granted: %s, unconfirmed: %s', (status, isGranted, isUnconfirmed) => {
    const times = { grantedAt: start, confirmedAt: null, revokedAt: null, tokenExpiresAt: null };
    const consent = new Consent('t', status === null ? null : { ...times, status, subscribedAt: null });
    expect([consent.isGranted, consent.isUnconfirmed]).toEqual([isGranted, isUnconfirmed]);
  });

  it('says when its mail may be sent again', () => {
    const error = new ResendTooSoonError(42);
    expect(error).toMatchObject({
      code: 'rate-limited',
      message: 'The confirmation mail was sent too recently or too often.',
      members: { retryAfterSeconds: 42 },
    });
  });

  const action = fc.constantFrom('grant', 'grantDouble', 'confirm', 'revoke', 'resend', 'askAgain', 'expire');
  const steps = fc.array(fc.tuple(action, fc.integer({ min: 0, max: 40 * 3_600_000 })), { maxLength: 40 });

  function act(consent: Consent, name: string, at: Date): void {
    if (name === 'grant' || name === 'grantDouble') consent.grant(name === 'grantDouble', at);
    else if (name === 'confirm') consent.confirm(at);
    else if (name === 'revoke') consent.revoke(at);
    else if (name === 'resend') consent.resend(at);
    else if (name === 'askAgain') consent.askAgain(at);
    else consent.expire(at);
  }

  it('always has the times that its status implies and a record without gaps, whatever happens', () => {
    const allowed = new Set([
      'null→SUBSCRIBED',
      'null→PENDING_CONFIRMATION',
      'PENDING_CONFIRMATION→SUBSCRIBED',
      'PENDING_CONFIRMATION→EXPIRED',
      'PENDING_CONFIRMATION→UNSUBSCRIBED',
      'SUBSCRIBED→UNSUBSCRIBED',
      'UNSUBSCRIBED→SUBSCRIBED',
      'UNSUBSCRIBED→PENDING_CONFIRMATION',
      'EXPIRED→SUBSCRIBED',
      'EXPIRED→PENDING_CONFIRMATION',
    ]);
    fc.assert(
      fc.property(steps, (sequence) => {
        const consent = new Consent('t', null);
        let now = start;
        for (const [name, wait] of sequence) {
          now = new Date(now.getTime() + wait);
          const before = consent.status;
          try {
            act(consent, name, now);
          } catch (error) {
            if (!(error instanceof ConsentExistsError || error instanceof InvalidStateError)) throw error;
          }
          const { state } = consent;
          if (state === null) {
            expect(before).toBeNull();
            continue;
          }
          expect(state.grantedAt).not.toBeNull();
          expect(state.subscribedAt !== null).toBe(state.status === 'SUBSCRIBED');
          if (state.status === 'SUBSCRIBED') expect(state.revokedAt).toBeNull();
          if (state.status === 'UNSUBSCRIBED') expect(state.revokedAt).not.toBeNull();
          if (state.status === 'PENDING_CONFIRMATION') expect(state.tokenExpiresAt).not.toBeNull();
        }
        consent.changes.forEach(({ from, to }, index) => {
          expect(allowed).toContain(`${from}→${to}`);
          expect(from).toBe(consent.changes[index - 1]?.to ?? null);
        });
        expect(consent.changes.at(-1)?.to ?? null).toBe(consent.status);
      }),
    );
  });
});
