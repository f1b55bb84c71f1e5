import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import type { Campaign } from '../../campaigns/campaign.js';
import { CampaignFailureService } from '../../campaigns/lifecycle/campaign-failure.service.js';
import { CampaignSendingService } from '../../campaigns/lifecycle/campaign-sending.service.js';
import { MessagingFixture } from '../../messaging.fixture.js';
import { CampaignDispatchService } from './campaign-dispatch.service.js';

describe('a campaign that the worker takes over', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  afterAll(() => fixture.close());

  beforeEach(async () => {
    await fixture.test.query(
      'truncate messaging.campaigns, messaging.deliveries, audience.subscribers, audience.topics cascade',
    );
    scope = await fixture.scope();
  });

  const dispatch = ({ id }: Campaign, failures = 0) =>
    fixture
      .get(CampaignDispatchService)
      .dispatch(scope, id, { failures, signal: new AbortController().signal });

  async function queued(): Promise<Campaign> {
    const { campaignKey } = await fixture.draft(scope, 3);
    return fixture.get(CampaignSendingService).send(scope, campaignKey);
  }

  it('fails at once when it cannot become a mail, and gives its e-mails back', async () => {
    const campaign = await queued();
    await fixture.test.query(`update messaging.campaigns set content_text = '{{ subscriber.first_name'`);
    const reason = await dispatch(campaign);
    expect(reason).toMatch(/\S/);
    const failed = await fixture.campaign(campaign.id);
    expect(failed).toMatchObject({ status: 'FAILED', failure_reason: reason });
    expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
    expect(await fixture.deliveries()).toEqual([]);
  });

  it('is tried again while what hinders it may be over soon, and then fails', async () => {
    const campaign = await queued();
    // The period has no e-mail left for the one whose pause ends just now.
    await fixture.test.query(`update messaging.campaigns set reserved_emails = 2`);
    await fixture.test.query(`update billing.email_usage set used = 1000000`);
    await expect(dispatch(campaign, 8)).rejects.toThrow('The billing period has too few e-mails left');
    expect((await fixture.campaign(campaign.id)).status).toBe('QUEUED_FOR_SENDING');
    expect(await dispatch(campaign, 9)).not.toBeNull();
    expect(await fixture.campaign(campaign.id)).toMatchObject({
      status: 'FAILED',
      failure_reason: 'The billing period has too few e-mails left for this campaign.',
    });
  });

  it('is left alone when it has ended', async () => {
    const campaign = await queued();
    await dispatch(campaign);
    await fixture.get(CampaignFailureService).fail(scope, campaign.id, 'broken');
    expect(await dispatch(campaign)).toBeNull();
    expect((await fixture.campaign(campaign.id)).failure_reason).toBe('broken');
  });
});
