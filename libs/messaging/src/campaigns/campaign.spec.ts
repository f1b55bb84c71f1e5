import { describe, expect, it } from '@jest/globals';
import { InvalidStateError } from '#kernel';
import { Campaign, CAMPAIGN_STATUSES, type CampaignStatus } from './campaign.js';

const now = new Date('2026-11-21T06:00:00.000Z');
const later = new Date('2026-11-21T07:00:00.000Z');

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

const EDITABLE: readonly CampaignStatus[] = ['DRAFT', 'SCHEDULED', 'FAILED'];

describe('Campaign', () => {
  it.each(CAMPAIGN_STATUSES)(
    'in %s lets itself be changed and sent, or says which states would',
    (status) => {
      const campaign = campaignIn(status);
      const attempts = [
        () => campaign.revise({ name: 'Other' }, later),
        () => campaignIn(status).queue({ recipients: 1, usagePeriod: null }, later),
      ];
      for (const attempt of attempts) {
        if (EDITABLE.includes(status)) expect(attempt).not.toThrow();
        else expect(attempt).toThrow(InvalidStateError);
      }
    },
  );

  it('forgets the analysis of what stood before', () => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 100, status: 'PASSED' });
    campaign.revise({ subject: 'Other' }, later);
    expect(campaign).toMatchObject({
      subject: 'Other',
      preSendScore: null,
      preSendStatus: null,
      updatedAt: later,
    });
  });

  it('is left as it is by an empty change', () => {
    const campaign = campaignIn('DRAFT');
    campaign.judge({ score: 100, status: 'PASSED' });
    campaign.revise({}, later);
    expect(campaign).toMatchObject({ preSendScore: 100, updatedAt: now });
  });

  it('is a draft again when its schedule is cleared', () => {
    const campaign = campaignIn('SCHEDULED');
    campaign.revise({ scheduledAt: null }, later);
    expect(campaign).toMatchObject({ status: 'DRAFT', scheduledAt: null });
  });

  it('is queued once, with the e-mails of the period that are set aside for it', () => {
    const campaign = campaignIn('FAILED');
    campaign.failureReason = 'missed';
    campaign.queue({ recipients: 5, usagePeriod: now }, later);
    expect(campaign).toMatchObject({
      status: 'QUEUED_FOR_SENDING',
      failureReason: null,
      estimatedRecipientCount: 5,
      reservedEmails: 5,
      usagePeriod: now,
      queuedAt: later,
    });
    expect(() => campaign.queue({ recipients: 5, usagePeriod: now }, later)).toThrow(InvalidStateError);
  });
});
