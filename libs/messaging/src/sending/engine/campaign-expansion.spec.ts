import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import type { Campaign } from '../../campaigns/campaign.js';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { MessagingFixture } from '../../messaging.fixture.js';
import { CampaignExpansionService } from './campaign-expansion.service.js';

const CHUNK = 5_000;

describe('CampaignExpansionService', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });

  afterAll(() => fixture.close());

  beforeEach(async () => {
    await fixture.test.query(
      `delete from messaging.campaigns; delete from messaging.deliveries;
         delete from audience.subscribers; delete from audience.topics`,
    );
    scope = await fixture.scope();
  });

  const never = new AbortController().signal;
  const expand = (campaignId: string, signal = never) =>
    fixture.get(CampaignExpansionService).expand(scope, campaignId, signal);
  const queued = async (readers: number) => {
    const { campaignKey } = await fixture.draft(scope, readers);
    return fixture.get(CampaignLifecycleService).send(scope, campaignKey);
  };
  const campaignRow = async (id: string) => {
    const [row] = await fixture.test.query<{ expanded: boolean; reserved: number; status: string }>(
      `select expanded_at is not null as expanded, reserved_emails::int as reserved, status from messaging.campaigns where id = $1`,
      [id],
    );
    return row;
  };
  const usage = async () => {
    const [row] = await fixture.test.query<{ reserved: number }>(
      `select (u.reserved - coalesce(sum(s.used + s.released - s.reserved), 0))::int as reserved
       from billing.email_usage u left join billing.email_settlements s using (tenant_id, period_start)
       where u.tenant_id = $1 group by u.reserved`,
      [scope.tenantId],
    );
    return row?.reserved;
  };

  it('writes one delivery a subscriber, with a Message-ID of its own and the quota set aside', async () => {
    const campaign = await fixture.queuedCampaign(scope, 7);
    const rows = await fixture.deliveries();
    expect(rows).toHaveLength(7);
    expect(new Set(rows.map(({ message_id }) => message_id)).size).toBe(7);
    expect(rows.every(({ id, message_id }) => message_id.startsWith(`<${id}@`))).toBe(true);
    expect(await campaignRow(campaign.id)).toEqual({ expanded: true, reserved: 7, status: 'SENDING' });
    expect(await usage()).toBe(7);
  });

  it('freezes the audience at the moment of send', async () => {
    const campaign = await queued(2);
    await fixture.test.query(
      `with late as (
         insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, created_at, updated_at)
         values (platform.new_id(), $1, 'LATE', 'late@example.com', 'late@example.com', 'API', 'ACTIVE', now(), now()) returning id
       )
       insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at)
       select late.id, t.id, $1, 'SUBSCRIBED', $2, $2 from late, audience.topics t`,
      [scope.environmentId, new Date(fixture.clock.now().getTime() + 1_000)],
    );
    await expand(campaign.id);
    expect((await fixture.deliveries()).map(({ address }) => address)).toEqual([
      'reader-1@example.com',
      'reader-2@example.com',
    ]);
  });

  it('goes on where it was stopped, and writes nobody down twice', async () => {
    const campaign = await queued(CHUNK + 100);
    const stop = new AbortController();
    const firstChunk = expand(campaign.id, stop.signal);
    stop.abort();
    await firstChunk;
    expect((await campaignRow(campaign.id))?.expanded).toBe(false);
    await expand(campaign.id);
    await expand(campaign.id);
    expect(await fixture.deliveries()).toHaveLength(CHUNK + 100);
    expect((await campaignRow(campaign.id))?.expanded).toBe(true);
  });

  it('passes over who was written down before at another address, and writes down the others of the chunk', async () => {
    const campaign = await queued(5);
    await fixture.test.query(
      `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
         message_id, state, next_attempt_at, created_at)
       select platform.new_id(), (c.queued_at at time zone 'UTC')::date, c.environment_id, 'CAMPAIGN', c.id, b.id,
         'reader-4@example.com', 'reader-4@example.com', '<before@example.com>', 'SENT', now(), now()
       from messaging.campaigns c, audience.subscribers b where c.id = $1 and b.email = 'reader-3@example.com'`,
      [campaign.id],
    );
    await expand(campaign.id);
    const rows = await fixture.deliveries();
    expect(rows.map(({ address }) => address).toSorted()).toEqual(
      [1, 2, 4, 4, 5].map((n) => `reader-${n}@example.com`),
    );
    const toFour = rows.filter(({ address }) => address === 'reader-4@example.com');
    expect(toFour.filter(({ message_id }) => message_id === '<before@example.com>')).toHaveLength(1);
    expect(await campaignRow(campaign.id)).toEqual({ expanded: true, reserved: 4, status: 'SENDING' });
    expect(await usage()).toBe(4);
  });

  it('gives back what was set aside for people who left before they were written down', async () => {
    const campaign = await queued(5);
    expect(await usage()).toBe(5);
    await fixture.test.query(
      `update audience.consents set status = 'UNSUBSCRIBED', subscribed_at = null
       where subscriber_id in (select id from audience.subscribers order by email limit 2)`,
    );
    await expand(campaign.id);
    expect(await fixture.deliveries()).toHaveLength(3);
    expect(await usage()).toBe(3);
  });

  it('writes nobody down for a campaign that was cancelled', async () => {
    const campaign = await queued(3);
    await fixture.test.query(`update messaging.campaigns set status = 'CANCELLED'`);
    await expand(campaign.id);
    expect(await fixture.deliveries()).toHaveLength(0);
  });

  describe('as the job tries it', () => {
    const tried = ({ id }: Campaign, failures = 0) =>
      fixture
        .get(CampaignExpansionService)
        .expandOrFail(scope, { campaignId: id }, { failures, signal: never });

    it('fails at once when it cannot become a mail, and gives its e-mails back', async () => {
      const campaign = await queued(3);
      await fixture.test.query(`update messaging.campaigns set content_text = '{{ subscriber.first_name'`);
      const result = await tried(campaign);
      const failed = await fixture.campaign(campaign.id);
      expect(failed).toMatchObject({ status: 'FAILED', failure_reason: expect.stringMatching(/\S/) });
      expect(result).toEqual({ kind: 'cancel', reason: failed.failure_reason });
      expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
      expect(await fixture.deliveries()).toEqual([]);
    });

    it('is tried again while what hinders it may be over soon, and then fails', async () => {
      const campaign = await queued(3);
      // The period has no e-mail left for the one whose pause ends just now.
      await fixture.test.query(`update messaging.campaigns set reserved_emails = 2`);
      await fixture.test.query(`update billing.email_usage set used = 1000000`);
      await expect(tried(campaign, 8)).rejects.toThrow('The billing period has too few e-mails left');
      expect((await fixture.campaign(campaign.id)).status).toBe('QUEUED_FOR_SENDING');
      expect((await tried(campaign, 9)).kind).toBe('cancel');
      expect(await fixture.campaign(campaign.id)).toMatchObject({
        status: 'FAILED',
        failure_reason: 'The billing period has too few e-mails left for this campaign.',
      });
    });

    it('is left alone when it has ended', async () => {
      const campaign = await queued(3);
      await tried(campaign);
      await fixture.get(CampaignLifecycleService).fail(scope, campaign.id, 'broken');
      expect((await tried(campaign)).kind).toBe('done');
      expect((await fixture.campaign(campaign.id)).failure_reason).toBe('broken');
    });
  });
});
