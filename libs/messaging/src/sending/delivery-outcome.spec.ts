import { describe, expect, it } from '@jest/globals';
import type { SendOutcome, SmtpReply } from '#platform';
import { ContentCompileError, MergeTemplateError } from '../content/content.errors.js';
import type { ClaimedDelivery } from '../deliveries/delivery.js';
import {
  held,
  misconfigured,
  notComposed,
  outcomeOf,
  outcomeOfInterruption,
  outcomeWithoutMail,
  postponed,
  skipped,
} from './delivery-outcome.js';

const due = new Date('2026-11-21T06:00:00.000Z');
const after = (minutes: number) => new Date(due.getTime() + minutes * 60_000);
const HOUR = 60;
const inTheMiddle = () => 0.5;

function claimed(differences: Partial<ClaimedDelivery> = {}): ClaimedDelivery {
  return {
    id: 'd',
    queuedOn: '2026-11-21',
    kind: 'CAMPAIGN',
    sourceId: 'c',
    subscriberId: 's',
    address: 'ada@example.com',
    locale: null,
    variant: null,
    messageId: '<m@example.com>',
    leaseToken: 'l',
    leaseEpoch: null,
    attempt: 0,
    createdAt: due,
    dueSince: due,
    interrupted: false,
    possibleDuplicate: false,
    relayKey: null,
    traceparent: null,
    ...differences,
  };
}

/** An outcome of `delivery` that ends it, apart from what a test says. */
const ending = (delivery: ClaimedDelivery) => ({
  delivery,
  reason: null,
  lastError: null,
  nextAttemptAt: null,
  dueSince: null,
  possibleDuplicate: false,
  tried: false,
  uncounted: false,
  providerMessageId: null,
  reply: null,
});
const deferring = (delivery: ClaimedDelivery) => ({
  ...ending(delivery),
  state: 'DEFERRED',
  dueSince: delivery.dueSince,
});

function reply(code: number, text = '', enhancedCode: string | null = null): SmtpReply {
  return { code, text, enhancedCode };
}
const refused = (
  said: SmtpReply,
  stage: 'session' | 'mail' | 'rcpt' = 'rcpt',
  kind: 'permanent' | 'temporary' = 'permanent',
): SendOutcome => ({ kind, reply: said, stage });
const NO_REPLY: SendOutcome = { kind: 'ambiguous', detail: 'The connection broke.' };

describe('an attempt', () => {
  it('that the relay accepted has sent the mail', () => {
    const delivery = claimed();
    const accepted: SendOutcome = {
      kind: 'accepted',
      reply: { code: 250, enhancedCode: null, text: 'OK' },
    };
    expect(outcomeOf(delivery, accepted, 'RESEND', due, inTheMiddle)).toEqual({
      ...ending(delivery),
      reply: '250 OK',
      state: 'SENT',
      tried: true,
    });
  });

  it('that is refused for good has failed, and the relay’s words are kept', () => {
    const delivery = claimed();
    const said = reply(550, 'User unknown', '5.1.1');
    expect(outcomeOf(delivery, refused(said), 'RESEND', due, inTheMiddle)).toEqual({
      ...ending(delivery),
      state: 'FAILED',
      reason: 'hard',
      lastError: '550 5.1.1 User unknown',
      tried: true,
    });
  });

  it.each([
    ['words alone', reply(550, 'User unknown'), '550 User unknown'],
    ['a code alone', reply(550, '', '5.1.1'), '550 5.1.1'],
    ['words with an address', reply(550, 'User <ada@example.com> unknown'), '550 User <[address]> unknown'],
    ['endless words', reply(550, 'x'.repeat(600)), `550 ${'x'.repeat(496)}`],
  ])('that is refused with %s keeps as much of them as may be kept', (_, said, kept) => {
    expect(outcomeOf(claimed(), refused(said), 'RESEND', due, inTheMiddle).lastError).toBe(kept);
  });

  it.each([
    ['rcpt', 'permanent', reply(550, 'User unknown', '5.1.1'), 'hard'],
    ['session', 'permanent', reply(550, 'User unknown', '5.1.1'), 'network'],
    ['mail', 'permanent', reply(550, 'User unknown', '5.1.1'), 'sender'],
    ['mail', 'permanent', reply(552, 'over quota', '5.2.2'), 'sender'],
    ['mail', 'permanent', reply(535, 'Authentication failed'), 'sender'],
    ['mail', 'permanent', reply(552, 'message size exceeds my databytes limit'), 'content'],
    ['mail', 'temporary', reply(450, 'Requested mail action not taken'), 'network'],
    ['mail', 'temporary', reply(450, 'Greylisted, please try again', '4.7.1'), 'policy'],
    ['rcpt', 'temporary', reply(450, 'Requested mail action not taken'), 'mailbox'],
  ] as const)(
    'charges nothing to the recipient before it was named: at %s, %s, %j is %s',
    (stage, kind, said, reason) => {
      expect(outcomeOf(claimed(), refused(said, stage, kind), 'RESEND', due, inTheMiddle).reason).toBe(
        reason,
      );
    },
  );

  it('that is refused for now is made again on the schedule, longer after each', () => {
    const busy = refused(reply(450, 'Busy'), 'rcpt', 'temporary');
    const delivery = claimed();
    expect(outcomeOf(delivery, busy, 'RESEND', due, inTheMiddle)).toEqual({
      ...deferring(delivery),
      reason: 'mailbox',
      lastError: '450 Busy',
      nextAttemptAt: after(5),
      tried: true,
    });
    const third = outcomeOf(claimed({ attempt: 2 }), busy, 'RESEND', after(20), inTheMiddle);
    expect(third.nextAttemptAt).toEqual(after(50));
  });

  it('that is refused for now fails when its two days are over', () => {
    const delivery = claimed({ attempt: 9 });
    const busy = refused(reply(450, 'Busy'), 'rcpt', 'temporary');
    expect(outcomeOf(delivery, busy, 'RESEND', after(47 * HOUR), inTheMiddle)).toEqual({
      ...ending(delivery),
      state: 'FAILED',
      reason: 'mailbox',
      lastError: '450 Busy',
      tried: true,
    });
  });

  it('for which there was no relay does not count, and is made again after 15 seconds', () => {
    const delivery = claimed({ attempt: 3 });
    const down: SendOutcome = { kind: 'route-unavailable', detail: 'connection refused', stage: 'connect' };
    expect(outcomeOf(delivery, down, 'RESEND', after(1), inTheMiddle)).toEqual({
      ...deferring(delivery),
      lastError: 'connection refused',
      nextAttemptAt: after(1.25),
      dueSince: null,
      tried: true,
      uncounted: true,
    });
  });

  it('without a final reply is made once more after a minute, as a possible duplicate', () => {
    const delivery = claimed();
    expect(outcomeOf(delivery, NO_REPLY, 'RESEND', after(1), inTheMiddle)).toEqual({
      ...deferring(delivery),
      lastError: 'The connection broke.',
      nextAttemptAt: after(2),
      possibleDuplicate: true,
      tried: true,
    });
  });

  it.each([
    ['where nothing in doubt is sent again', 'HOLD', {}, false],
    ['when it was the second', 'RESEND', { possibleDuplicate: true }, true],
    ['when the one before was interrupted', 'RESEND', { interrupted: true }, true],
  ] as const)('without a final reply stays in doubt %s', (_, policy, differences, possibleDuplicate) => {
    const delivery = claimed(differences);
    expect(outcomeOf(delivery, NO_REPLY, policy, after(1), inTheMiddle)).toEqual({
      ...ending(delivery),
      state: 'AMBIGUOUS',
      reason: 'no-reply',
      lastError: 'The connection broke.',
      possibleDuplicate,
      tried: true,
    });
  });

  it.each([{ interrupted: true }, { possibleDuplicate: true }])(
    'leaves it a possible duplicate when it was one: %j',
    (differences) => {
      const delivery = claimed(differences);
      const accepted: SendOutcome = {
        kind: 'accepted',
        reply: { code: 250, enhancedCode: null, text: 'OK' },
      };
      expect(outcomeOf(delivery, accepted, 'RESEND', due, inTheMiddle)).toMatchObject({
        state: 'SENT',
        possibleDuplicate: true,
      });
    },
  );
});

describe('a mail whose sender died', () => {
  it.each([
    ['RESEND', false, false, 'sent'],
    ['RESEND', true, false, 'sent'],
    ['RESEND', false, true, 'sent'],
    ['RESEND', true, true, 'in doubt'],
    ['HOLD', false, false, 'sent'],
    ['HOLD', true, false, 'in doubt'],
    ['HOLD', false, true, 'in doubt'],
    ['HOLD', true, true, 'in doubt'],
  ] as const)('under %s, interrupted %s and repeated %s, is %s', (policy, interrupted, repeated, fate) => {
    const delivery = claimed({ interrupted, possibleDuplicate: repeated });
    const inDoubt = {
      ...ending(delivery),
      state: 'AMBIGUOUS',
      reason: 'no-reply',
      lastError: 'The sender stopped before the reply came.',
      possibleDuplicate: true,
    };
    const expected = fate === 'sent' ? null : inDoubt;
    expect(outcomeOfInterruption(delivery, policy)).toEqual(expected);
    expect(outcomeWithoutMail(delivery, policy, { obstacle: null })).toEqual(expected);
  });

  it('stays in doubt whatever is known of its recipient', () => {
    const delivery = claimed({ interrupted: true });
    expect(outcomeWithoutMail(delivery, 'HOLD', undefined)).toMatchObject({ state: 'AMBIGUOUS' });
  });
});

describe('a mail that must not leave', () => {
  it('is skipped when its recipient was erased', () => {
    expect(outcomeWithoutMail(claimed(), 'RESEND', undefined)).toEqual(skipped(claimed(), 'erased'));
  });

  it('is skipped for what stands against its recipient', () => {
    const delivery = claimed();
    expect(outcomeWithoutMail(delivery, 'RESEND', { obstacle: 'suppressed' })).toEqual({
      ...ending(delivery),
      state: 'SKIPPED',
      reason: 'suppressed',
    });
  });

  it('fails when its sender is not configured for it', () => {
    const delivery = claimed();
    expect(misconfigured(delivery, 'The key is missing.')).toEqual({
      ...ending(delivery),
      state: 'FAILED',
      reason: 'config',
      lastError: 'The key is missing.',
    });
  });

  it('waits until it may, and that time counts', () => {
    const delivery = claimed();
    expect(postponed(delivery, 'quota', after(30))).toEqual({
      ...deferring(delivery),
      reason: 'quota',
      nextAttemptAt: after(30),
    });
  });

  it('waits for others that come before it, and none of that time counts', () => {
    const first = claimed();
    expect(held(first, 'pace', after(40), after(10))).toEqual({
      ...deferring(first),
      reason: 'pace',
      nextAttemptAt: after(40),
      dueSince: after(40),
    });
    const tried = claimed({ attempt: 1 });
    expect(held(tried, 'pace', after(40), after(10)).dueSince).toEqual(after(30));
  });
});

describe('a mail that could not be made', () => {
  const broken = new Error('Out of memory.');
  const nextAfter = (waited: number, random = 0.5, error: unknown = broken) =>
    notComposed(claimed(), error, after(waited), () => random).nextAttemptAt;

  it('is made again after five minutes', () => {
    const delivery = claimed();
    expect(notComposed(delivery, broken, due, inTheMiddle)).toEqual({
      ...deferring(delivery),
      reason: 'unknown',
      lastError: 'Error: Out of memory.',
      nextAttemptAt: after(5),
    });
  });

  it('waits as long again as it has waited, at most four hours, spread by a fifth', () => {
    expect([1, 5, 30, 6 * HOUR].map((waited) => nextAfter(waited))).toEqual(
      [6, 10, 60, 10 * HOUR].map(after),
    );
    expect([nextAfter(30, 0), nextAfter(30, 1)]).toEqual([after(54), after(66)]);
  });

  it.each([
    ['merge tags', new MergeTemplateError('No such filter.')],
    ['blocks', new ContentCompileError('No such block.')],
  ])('is given up within the hour when its %s are the fault', (_, error) => {
    expect(nextAfter(30, 0.5, error)).toEqual(after(60));
    expect(notComposed(claimed(), error, after(31), inTheMiddle)).toMatchObject({
      state: 'FAILED',
      reason: 'unknown',
      nextAttemptAt: null,
    });
  });

  it('is given up after two days when the fault may be ours', () => {
    expect(nextAfter(44 * HOUR)).toEqual(after(48 * HOUR));
    expect(notComposed(claimed(), broken, after(44 * HOUR + 1), inTheMiddle)).toMatchObject({
      state: 'FAILED',
      reason: 'unknown',
      lastError: 'Error: Out of memory.',
    });
  });
});
