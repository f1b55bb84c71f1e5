import { describe, expect, it } from '@jest/globals';
import { InvalidStateError, UnavailableError } from '#kernel';
import { Campaign, CAMPAIGN_STATUSES, type CampaignStatus } from './campaign.js';
import { ALLOWED_STATUSES, type CampaignAction } from './campaign-status.js';
import { ScheduleMissingError } from './campaign.errors.js';

const now = new Date('2026-11-21T06:00:00.000Z');
const later = new Date('2026-11-21T07:00:00.000Z');
const period = new Date('2026-11-01T00:00:00.000Z');

function campaignIn(status: CampaignStatus): Campaign {
  const campaign = new Campaign(
    { id: '01a1fd1e-0000-7000-8000-000000000000', environmentId: 1, campaignKey: 'APIT-001' },
    {
      name: 'News',
      subject: 'Hello',
      previewText: null,
      contentJson: null,
      contentText: 'Hello.',
      fromEmail: null,
      fromName: null,
      replyTo: null,
      topicIds: ['t1'],
      segmentIds: [],
      sendStrategy: null,
      scheduledAt: later,
    },
    now,
  );
  campaign.status = status;
  return campaign;
}

/** What each action does, and the states of the contract's picture. */
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
          expect.objectContaining({ currentState: status, allowedStates: ALLOWED_STATUSES[action] }),
        );
      }
    });
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
    });
    expect(() => campaign.queue({ recipients: 5, usagePeriod: period }, later)).toThrow(InvalidStateError);
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
    expect(() => campaign.queue({ recipients: 5, usagePeriod: null }, later)).toThrow(UnavailableError);
    campaign.closingSince = null;
    campaign.queue({ recipients: 5, usagePeriod: null }, later);
    expect(campaign).toMatchObject({ queuedAt: now, audienceAt: later, expandedAt: null });
  });
});
