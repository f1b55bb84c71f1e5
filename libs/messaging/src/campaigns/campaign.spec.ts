import { describe, expect, it } from '@jest/globals';
import { InvalidStateError, UnavailableError } from '#kernel';
import {
  Campaign,
  CAMPAIGN_ACTIONS,
  CAMPAIGN_STATUSES,
  type CampaignAction,
  type CampaignStatus,
  changedTimes,
  isCampaignKey,
  lastTimeOf,
  timeFaults,
} from './campaign.js';
import { ScheduleMissingError } from './campaign.errors.js';

const now = new Date('2026-11-21T06:00:00.000Z');
const later = new Date('2026-11-21T07:00:00.000Z');
const period = new Date('2026-11-01T00:00:00.000Z');

function campaignIn(status: CampaignStatus): Campaign {
  const campaign = new Campaign(
    { id: '01a1fd1e-0000-7000-8000-000000000000', environmentId: 1, campaignKey: 'APIT-001' },
    { name: 'News', subject: 'Hello', contentText: 'Hello.', topicIds: ['t1'], scheduledAt: later },
    now,
  );
  campaign.status = status;
  return campaign;
}

/** Each action, its call, and the states in which the contract's picture allows it. */
const ACTIONS: readonly [CampaignAction, (campaign: Campaign) => unknown, readonly CampaignStatus[]][] = [
  ['change', (campaign) => campaign.revise({ name: 'Other' }, later), ['DRAFT', 'SCHEDULED', 'FAILED']],
  [
    'delete',
    (campaign) => campaign.refuseUnlessAllowed('delete'),
    ['DRAFT', 'SCHEDULED', 'FAILED', 'CANCELLED'],
  ],
  ['schedule', (campaign) => campaign.schedule(now), ['DRAFT']],
  [
    'send',
    (campaign) => campaign.queue({ recipients: 1, usagePeriod: null }, later),
    ['DRAFT', 'SCHEDULED', 'FAILED'],
  ],
  ['cancel', (campaign) => campaign.cancel(later), ['SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED']],
  ['pause', (campaign) => campaign.pause(later), ['SENDING']],
  ['resume', (campaign) => campaign.resume(later), ['PAUSED']],
  ['archive', (campaign) => campaign.archive(later), ['SENT', 'CANCELLED', 'FAILED']],
  ['retryFailed', (campaign) => campaign.retryFailed({ recipients: 1, usagePeriod: null }, later), ['SENT']],
];

describe('Campaign', () => {
  describe.each(ACTIONS)('%s', (action, act, allowed) => {
    it.each(CAMPAIGN_STATUSES)('happens in %s, or says which states would allow it', (status) => {
      const attempt = () => act(campaignIn(status));
      if (allowed.includes(status)) expect(attempt).not.toThrow();
      else {
        expect(attempt).toThrow(InvalidStateError);
        expect(attempt).toThrow(
          expect.objectContaining({ currentState: status, allowedStates: CAMPAIGN_ACTIONS[action].allowed }),
        );
      }
    });
  });

  it.each([
    ['change', 'SENT', 'cannot be changed while it is SENT'],
    ['delete', 'SENDING', 'cannot be deleted while it is SENDING'],
    ['schedule', 'PAUSED', 'cannot be scheduled while it is PAUSED'],
    ['send', 'SENT', 'cannot be sent while it is SENT'],
    ['cancel', 'DRAFT', 'cannot be cancelled while it is DRAFT'],
    ['pause', 'DRAFT', 'cannot be paused while it is DRAFT'],
    ['resume', 'DRAFT', 'cannot be resumed while it is DRAFT'],
    ['retryFailed', 'DRAFT', 'cannot be retried while it is DRAFT'],
    ['test', 'ARCHIVED', 'cannot be tested while it is ARCHIVED'],
    ['archive', 'DRAFT', 'cannot be archived while it is DRAFT'],
  ] as const)('says what %s cannot do in %s: the campaign %s', (action, status, refusal) => {
    expect(() => campaignIn(status).refuseUnlessAllowed(action)).toThrow(`The campaign ${refusal}.`);
  });

  it.each([
    ['test', CAMPAIGN_STATUSES.filter((status) => status !== 'ARCHIVED')],
    ['archive', ['SENT', 'CANCELLED', 'FAILED']],
    ['pause', ['SENDING']],
  ] as const)('tells that %s is allowed in %j alone', (action, allowed) => {
    expect(CAMPAIGN_STATUSES.filter((status) => campaignIn(status).allows(action))).toEqual(allowed);
  });

  it('begins as a draft of what its author wrote, with each topic and segment once', () => {
    const draft = {
      name: 'News',
      subject: 'Hello',
      previewText: 'Look',
      contentJson: '{}',
      contentText: 'Hello.',
      translations: { de: { subject: 'Hallo', previewText: null, contentJson: null, contentText: null } },
      fromEmail: 'news@example.com',
      fromName: 'Ada',
      replyTo: 'ada@example.com',
      topicIds: ['t1', 't2', 't1'],
      segmentIds: ['s1', 's1'],
      sendStrategy: 'IMMEDIATE',
      scheduledAt: later,
      scheduledAtLocal: null,
    } as const;
    const identity = { id: 'c', environmentId: 1, campaignKey: 'APIT-001' };
    expect(new Campaign(identity, draft, now)).toMatchObject({
      ...identity,
      ...draft,
      topicIds: ['t1', 't2'],
      segmentIds: ['s1'],
      status: 'DRAFT',
      ambiguousPolicy: 'RESEND',
      createdAt: now,
      updatedAt: now,
    });
  });

  it.each([
    [{ topicIds: ['t2', 't2'] }, { topicIds: ['t2'], segmentIds: [] }],
    [{ segmentIds: ['s1', 's1'] }, { topicIds: ['t1'], segmentIds: ['s1'] }],
  ])('forgets how many would get it when its audience changes: %j', (changes, audience) => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 100, status: 'PASSED', recipients: 3 }, now);
    campaign.revise(changes, later);
    expect(campaign).toMatchObject({ ...audience, estimatedRecipientCount: null, estimatedAt: null });
  });

  it('still knows how many would get it when only its content changes', () => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 90, status: 'WARNING', recipients: 3 }, now);
    campaign.revise({ subject: 'Other' }, later);
    expect(campaign).toMatchObject({ estimatedRecipientCount: 3, estimatedAt: now });
  });

  it.each([
    { previewText: 'Look' },
    { contentJson: '{}' },
    { translations: { de: { subject: 'Hallo', previewText: null, contentJson: null, contentText: null } } },
    { fromEmail: 'ada@example.com' },
    { segmentIds: ['s1'] },
  ])('is analysed anew when its %j changes', (changes) => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 100, status: 'PASSED', recipients: 3 }, now);
    campaign.revise(changes, later);
    expect(campaign).toMatchObject({ preSendScore: null, preSendStatus: null });
  });

  it.each([{ subject: 'Other' }, { topicIds: ['t2'] }, { contentText: 'Other.' }, { fromName: 'Ada' }])(
    'forgets the analysis of what stood before: %j',
    (changes) => {
      const campaign = campaignIn('SCHEDULED');
      campaign.judge({ score: 100, status: 'PASSED', recipients: 3 }, now);
      campaign.revise(changes, later);
      expect(campaign).toMatchObject({
        ...changes,
        status: 'SCHEDULED',
        preSendScore: null,
        preSendStatus: null,
        updatedAt: later,
      });
    },
  );

  it.each([
    { name: 'Other' },
    { scheduledAt: later },
    { sendStrategy: 'SCHEDULED' as const },
    { subject: 'Hello' },
  ])('keeps its analysis when neither content nor audience changes: %j', (changes) => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 100, status: 'PASSED', recipients: 3 }, now);
    campaign.revise(changes, later);
    expect(campaign).toMatchObject({ ...changes, preSendScore: 100, preSendStatus: 'PASSED' });
  });

  it('keeps its audience when a change says nothing of it', () => {
    const campaign = campaignIn('DRAFT');
    campaign.revise({ segmentIds: ['s1'] }, now);
    campaign.revise({ name: 'Other' }, later);
    expect(campaign).toMatchObject({ topicIds: ['t1'], segmentIds: ['s1'] });
  });

  it('is left as it is by an empty change', () => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 100, status: 'PASSED', recipients: 3 }, now);
    campaign.revise({}, later);
    expect(campaign).toMatchObject({ preSendScore: 100, updatedAt: now });
  });

  it('is a draft again when its schedule is cleared', () => {
    const campaign = campaignIn('SCHEDULED');
    campaign.revise({ scheduledAt: null }, later);
    expect(campaign).toMatchObject({ status: 'DRAFT', scheduledAt: null });
  });

  it.each([null, now])('is not scheduled for %s', (scheduledAt) => {
    const campaign = campaignIn('DRAFT');
    campaign.scheduledAt = scheduledAt;
    expect(() => campaign.schedule(now)).toThrow(ScheduleMissingError);
  });

  it('is scheduled for a time to come', () => {
    const campaign = campaignIn('DRAFT');
    campaign.schedule(new Date(later.getTime() - 1));
    expect(campaign).toMatchObject({ status: 'SCHEDULED', updatedAt: new Date(later.getTime() - 1) });
    expect(() => campaignIn('DRAFT').schedule(later)).toThrow(
      expect.objectContaining({
        code: 'schedule-missing',
        message: 'The campaign has no scheduledAt or scheduledAtLocal in the future.',
      }),
    );
  });

  describe('for a local time', () => {
    const local = '2026-11-21T09:00';
    const isFirst = new Date('2026-11-20T19:00:00.000Z');
    const isLast = new Date('2026-11-21T21:00:00.000Z');
    const localIn = (status: CampaignStatus): Campaign => {
      const campaign = campaignIn('DRAFT');
      campaign.revise({ scheduledAtLocal: local }, now);
      campaign.status = status;
      return campaign;
    };
    const queued = (campaign: Campaign) => {
      campaign.queue({ recipients: 1, usagePeriod: null }, now);
      return campaign;
    };

    it('shows the first of its moments, and is scheduled until the last has passed', () => {
      const campaign = localIn('DRAFT');
      expect(campaign).toMatchObject({ scheduledAt: isFirst, scheduledAtLocal: local });
      expect(() => campaign.schedule(isLast)).toThrow(ScheduleMissingError);
      campaign.schedule(new Date(isLast.getTime() - 1));
      expect(campaign.status).toBe('SCHEDULED');
      campaign.revise({ scheduledAtLocal: null }, later);
      expect(campaign).toMatchObject({ status: 'DRAFT', scheduledAt: null });
    });

    it('keeps to it when it is queued at its time, or is sent again after it failed', () => {
      for (const status of ['SCHEDULED', 'FAILED'] as const)
        expect(queued(localIn(status))).toMatchObject({ scheduledAt: isFirst, scheduledAtLocal: local });
    });

    it('forgets it when it is sent before, or without a schedule', () => {
      const early = [localIn('SCHEDULED'), localIn('FAILED')];
      for (const campaign of early) campaign.revise({ scheduledAtLocal: '2026-11-22T09:00' }, now);
      for (const campaign of [...early, localIn('DRAFT')])
        expect(queued(campaign)).toMatchObject({ scheduledAt: null, scheduledAtLocal: null });
    });
  });

  it('stays as it is when a schedule is cleared that did not count', () => {
    const campaign = campaignIn('FAILED');
    campaign.revise({ scheduledAt: null }, later);
    expect(campaign.status).toBe('FAILED');
    const scheduled = campaignIn('SCHEDULED');
    scheduled.revise({ name: 'Other' }, later);
    expect(scheduled.status).toBe('SCHEDULED');
  });

  it('is queued once, with the e-mails of the period that are set aside for it', () => {
    const campaign = campaignIn('FAILED');
    campaign.failureReason = 'missed';
    campaign.queue({ recipients: 5, usagePeriod: period }, later);
    expect(campaign).toMatchObject({
      status: 'QUEUED_FOR_SENDING',
      failureReason: null,
      estimatedRecipientCount: 5,
      reservedEmails: 5,
      usagePeriod: period,
      queuedAt: later,
      audienceAt: later,
      ambiguousPolicy: 'RESEND',
    });
    expect(() => campaign.queue({ recipients: 5, usagePeriod: period }, later)).toThrow(InvalidStateError);
  });

  it('sets nothing aside where e-mails are not counted, and begins its audience anew', () => {
    const campaign = campaignIn('FAILED');
    Object.assign(campaign, { expansionCursor: 'x', expandedAt: now, expandedEmails: 3, reservedEmails: 3 });
    campaign.queue({ recipients: 5, usagePeriod: null }, later, 'HOLD');
    expect(campaign).toMatchObject({
      ambiguousPolicy: 'HOLD',
      usagePeriod: null,
      reservedEmails: 0,
      expandedEmails: 0,
      expansionCursor: null,
      expandedAt: null,
      estimatedAt: later,
      updatedAt: later,
    });
  });

  it('rests and goes on', () => {
    const campaign = campaignIn('SENDING');
    campaign.pause(later);
    expect(campaign).toMatchObject({ status: 'PAUSED', updatedAt: later });
    campaign.failureReason = 'missed';
    campaign.updatedAt = now;
    campaign.resume(later);
    expect(campaign).toMatchObject({ status: 'SENDING', failureReason: null, updatedAt: later });
  });

  it.each([
    [period, 7],
    [null, 0],
  ])('puts its failed deliveries back, counted for the period %s as %d', (usagePeriod, retryEmails) => {
    const campaign = campaignIn('SENT');
    campaign.completedAt = now;
    campaign.retryFailed({ recipients: 7, usagePeriod }, later);
    expect(campaign).toMatchObject({
      status: 'SENDING',
      usagePeriod,
      retryFrom: later,
      retryEmails,
      completedAt: null,
      updatedAt: later,
    });
    const unbound = campaign.cancel(later);
    expect(unbound).toEqual({ usagePeriod, emails: retryEmails });
    expect(campaign).toMatchObject({ retryFrom: null, retryEmails: 0 });
  });

  it('gives back nothing where e-mails are not counted, nor more than was set aside', () => {
    const uncounted = campaignIn('SENDING');
    Object.assign(uncounted, { usagePeriod: null, reservedEmails: 100, expandedEmails: 30, retryEmails: 5 });
    expect(uncounted.cancel(later)).toEqual({ usagePeriod: null, emails: 0 });
    expect(uncounted).toMatchObject({ reservedEmails: 0, updatedAt: later });
    const grown = campaignIn('SENDING');
    Object.assign(grown, { usagePeriod: period, reservedEmails: 30, expandedEmails: 40 });
    expect(grown.cancel(later)).toEqual({ usagePeriod: period, emails: 0 });
  });

  it('gives back nothing when it fails before its time, whatever was counted for an earlier sending', () => {
    const campaign = campaignIn('SCHEDULED');
    Object.assign(campaign, { usagePeriod: period, reservedEmails: 30, retryEmails: 2 });
    expect(campaign.fail('missed', later)).toEqual({ usagePeriod: null, emails: 0 });
    expect(campaign).toMatchObject({ reservedEmails: 30, retryEmails: 2, closingSince: null });
  });

  it('gives back what is bound to no delivery when it is cancelled', () => {
    const campaign = campaignIn('SENDING');
    Object.assign(campaign, { usagePeriod: period, reservedEmails: 100, expandedEmails: 30 });
    expect(campaign.cancel(later)).toEqual({ usagePeriod: period, emails: 70 });
    expect(campaign).toMatchObject({
      status: 'CANCELLED',
      reservedEmails: 30,
      closingSince: later,
      completedAt: null,
    });
  });

  it('has nothing to give back, and nothing to end, when it only waited for its time', () => {
    const campaign = campaignIn('SCHEDULED');
    expect(campaign.cancel(later)).toEqual({ usagePeriod: null, emails: 0 });
    expect(campaign).toMatchObject({ status: 'CANCELLED', closingSince: null });
  });

  it.each(CAMPAIGN_STATUSES)('fails in %s if it can go on there, and else stays as it is', (status) => {
    const campaign = campaignIn(status);
    const canFail = ['SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED'].includes(status);
    expect(campaign.fail('broken', later) !== null).toBe(canFail);
    expect(campaign).toMatchObject({
      status: canFail ? 'FAILED' : status,
      failureReason: canFail ? 'broken' : null,
    });
  });

  it('is sent again after it failed only when what was open has ended, and in its old partition', () => {
    const campaign = campaignIn('DRAFT');
    campaign.queue({ recipients: 5, usagePeriod: null }, now);
    campaign.fail('broken', now);
    const attempt = () => campaign.queue({ recipients: 5, usagePeriod: null }, later);
    expect(attempt).toThrow(UnavailableError);
    expect(attempt).toThrow('The worker is still ending deliveries of this campaign.');
    campaign.closingSince = null;
    campaign.queue({ recipients: 5, usagePeriod: null }, later);
    expect(campaign).toMatchObject({ queuedAt: now, audienceAt: later, expandedAt: null });
  });
});

const noon = new Date('2027-01-05T12:00:00Z');
const never = { scheduledAt: null, scheduledAtLocal: null };
const atNoon = { scheduledAt: noon, scheduledAtLocal: null };
const atNine = { scheduledAt: new Date('2027-01-04T19:00:00Z'), scheduledAtLocal: '2027-01-05T09:00' };
const local = '2027-01-05T09:00';

describe('The time of a campaign', () => {
  it.each([
    [never, { scheduledAtLocal: local }, atNine],
    [atNoon, { scheduledAtLocal: local }, atNine],
    [atNoon, { scheduledAtLocal: local, scheduledAt: null }, atNine],
    [atNine, { scheduledAt: noon }, atNoon],
    [atNine, { scheduledAt: noon, scheduledAtLocal: null }, atNoon],
    [atNine, { scheduledAt: null }, never],
    [atNine, { scheduledAtLocal: null }, never],
    [atNoon, { scheduledAtLocal: null }, atNoon],
    [atNoon, { scheduledAt: null }, never],
    [atNine, {}, atNine],
  ])('%j with %j is %j', (before, changes, after) => {
    expect(changedTimes(changes, before)).toEqual(after);
  });

  it('is over when it has passed in the last zone', () => {
    expect([lastTimeOf(never), lastTimeOf(atNoon)]).toEqual([null, noon]);
    expect(lastTimeOf(atNine)).toEqual(new Date('2027-01-05T21:00:00Z'));
    const before = new Date('2027-01-05T20:59:59Z');
    expect(timeFaults({ scheduledAtLocal: local }, before)).toEqual({});
    expect(timeFaults({ scheduledAtLocal: local }, new Date('2027-01-05T21:00:00Z'))).toEqual({
      scheduledAtLocal: 'must be in the future',
    });
    expect(timeFaults({ scheduledAt: noon }, noon)).toEqual({ scheduledAt: 'must be in the future' });
    expect(timeFaults({}, noon)).toEqual({});
  });
});

describe('the key of a campaign', () => {
  it.each(['AC-001', 'ACME-042', 'A1-999', 'ACME1234-1000', 'ACME-1234567890123456789'])(
    'can be %s',
    (key) => {
      expect(isCampaignKey(key)).toBe(true);
    },
  );

  it.each([
    '',
    'ACME',
    'ACME-',
    'ACME-01',
    'A-001',
    '1A-001',
    'acme-001',
    'ACME12345-001',
    'ACME-0x1',
    ' ACME-001',
    'ACME-001 ',
    'ACME_1-001',
    'ACME-12345678901234567890',
  ])('cannot be %j', (key) => {
    expect(isCampaignKey(key)).toBe(false);
  });
});
