import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CustomFieldsService } from '#audience';
import { type EmailAddress, NotFoundError, parseEmailAddress, type ProjectScope } from '#kernel';
import { prepareProject } from '#testing/programs/system';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { CampaignsService } from '../../campaigns/campaigns.service.js';
import { PreSendRejectedError } from '../../campaigns/campaign.errors.js';
import { PreSendAnalysisService } from '../../campaigns/pre-send-analysis.service.js';
import { MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import { MailViewService } from './mail-view.service.js';

function address(text: string): EmailAddress {
  const parsed = parseEmailAddress(text);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.address;
}

describe('a look at a campaign before it is sent', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  afterAll(() => fixture.close());

  beforeEach(async () => {
    await fixture.test.query(
      `delete from messaging.campaigns; delete from messaging.deliveries;
         delete from messaging.test_inbox_messages; delete from audience.subscribers;
         delete from audience.topics; delete from audience.suppressions;
         delete from audience.custom_fields`,
    );
    scope = (await prepareProject(fixture.test, '')).test;
  });

  const suppress = (email: string, reason = 'SPAM_COMPLAINT') =>
    fixture.test.query(
      `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
       values ($1, $2, $2, $3, now())`,
      [scope.environmentId, email, reason],
    );

  describe('by a preview', () => {
    const preview = (key: string, email: string | null, locale: string | null = null) => {
      const reader = { address: email === null ? null : address(email), locale, variant: null };
      return fixture.get(MailViewService).preview(scope, key, reader);
    };

    it('shows what a subscriber would get, in upper or lower case, suppressed or not', async () => {
      const { campaignKey } = await fixture.draft(scope, 2);
      await suppress('reader-2@example.com');
      const shown = await preview(campaignKey, 'READER-2@example.com');
      expect(shown.subject).toBe('Hello Reader 2');
      expect(shown.html).toContain('Hello Reader 2.');
      expect(shown.text).toContain('Hello Reader 2.');
    });

    it('shows sample data without a subscriber, and is not there for a strange one', async () => {
      const { campaignKey } = await fixture.draft(scope, 1);
      expect((await preview(campaignKey, null)).subject).toBe('Hello Ada');
      await expect(preview(campaignKey, 'nobody@example.com')).rejects.toThrow(NotFoundError);
      await expect(preview('APIT-999', null)).rejects.toThrow(NotFoundError);
    });

    it('fills the defaults of custom fields into sample data, as a subscriber without a value has them', async () => {
      const field = { key: 'plan', displayName: 'Plan', type: 'TEXT', defaultValue: 'free' } as const;
      await fixture.get(CustomFieldsService).create(scope, field);
      const { campaignKey } = await fixture.draft(scope, 1, { subject: 'Your {{ custom.plan }} plan' });
      expect((await preview(campaignKey, 'reader-1@example.com')).subject).toBe('Your free plan');
      expect((await preview(campaignKey, null)).subject).toBe('Your free plan');
    });

    it('says what is wrong with a merge tag', async () => {
      const { campaignKey } = await fixture.draft(scope, 1, { subject: '{{ subscriber.first_name' });
      await expect(preview(campaignKey, null)).rejects.toThrow(PreSendRejectedError);
    });
  });
  describe('by its analysis', () => {
    const analyse = (key: string) => fixture.get(PreSendAnalysisService).of(scope, key);

    it('tells who will receive it and why others will not, each counted once', async () => {
      const { id, campaignKey } = await fixture.draft(scope, 6);
      await suppress('reader-1@example.com', 'HARD_BOUNCE');
      await suppress('reader-2@example.com', 'GLOBAL_UNSUBSCRIBE');
      await fixture.test.query(
        `update audience.consents set status = 'PENDING_CONFIRMATION', subscribed_at = null
         where subscriber_id in (select id from audience.subscribers where email in ('reader-2@example.com', 'reader-3@example.com'))`,
      );
      await fixture.test.query(
        `update audience.subscribers set paused_until = $1 where email like 'reader-4@%'`,
        [new Date(fixture.clock.now().getTime() + MINUTE)],
      );
      expect(await analyse(campaignKey)).toMatchObject({
        status: 'PASSED',
        score: 100,
        audience: { matched: 6, bounced: 1, suppressed: 1, unconfirmed: 1, capped: 1, willReceive: 2 },
      });
      expect((await fixture.campaign(id)).pre_send_status).toBe('PASSED');
    });

    it('is kept with the campaign until content or audience change', async () => {
      const { id, campaignKey } = await fixture.draft(scope, 0, { contentText: null });
      const { status, checks, audience } = await analyse(campaignKey);
      expect([status, audience.matched]).toEqual(['FAILED', 0]);
      const failed = checks.filter(({ result }) => result === 'FAIL').map(({ code }) => code);
      expect(failed).toEqual(expect.arrayContaining(['recipients', 'content-empty']));
      expect((await fixture.campaign(id)).pre_send_status).toBe('FAILED');
      await fixture.get(CampaignsService).revise(scope, campaignKey, { contentText: 'Hello.' });
      expect((await fixture.campaign(id)).pre_send_status).toBeNull();
    });

    it('of one that is out leaves the verdict it went out with', async () => {
      const { id, campaignKey } = await fixture.draft(scope, 1);
      await fixture.get(CampaignLifecycleService).send(scope, campaignKey);
      await suppress('reader-1@example.com');
      expect((await analyse(campaignKey)).status).toBe('FAILED');
      expect((await fixture.campaign(id)).pre_send_status).toBe('PASSED');
    });
  });
});
