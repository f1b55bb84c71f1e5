import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CustomFieldsService } from '#audience';
import {
  DomainValidationError,
  type EmailAddress,
  NotFoundError,
  parseEmailAddress,
  type ProjectScope,
} from '#kernel';
import { prepareProject } from '#testing/programs/system';
import { eventually } from '#testing/time/eventually';
import { CampaignsService } from '../../campaigns/campaigns.service.js';
import { PreSendRejectedError, TooManyTestMailsError } from '../../campaigns/campaign.errors.js';
import { MessagingFixture, MINUTE } from '../../messaging.fixture.js';
import { MailPagesService } from '../../engagement/mail-pages.service.js';
import { CampaignStatisticsQuery } from '../../reports/statistics/campaign-statistics.query.js';
import { TestInboxService } from '../test-inbox.service.js';
import { DeliveriesQuery } from '../deliveries.query.js';
import { TestMailsService } from './test-mails.service.js';

function address(text: string): EmailAddress {
  const parsed = parseEmailAddress(text);
  if ('fault' in parsed) throw new Error(parsed.fault);
  return parsed.address;
}

describe('a test mail', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  beforeEach(async () => {
    fixture.engine.start();
    scope = (await prepareProject(fixture.test, '')).test;
  });
  afterEach(() => fixture.clear());
  afterAll(() => fixture.close());

  const suppress = (email: string, reason = 'SPAM_COMPLAINT') =>
    fixture.test.query(
      `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
       values ($1, $2, $2, $3, now())`,
      [scope.environmentId, email, reason],
    );

  const send = (key: string, ...emails: string[]) =>
    fixture.get(TestMailsService).send(scope, key, emails.map(address));
  const inbox = () => fixture.get(TestInboxService).list(scope, { page: 0, size: 100 }, { kind: 'TEST' });
  const received = (count: number) =>
    eventually(`${count} test mails`, async () => {
      const { items } = await inbox();
      return items.length === count ? items : null;
    });

  it('is a copy with sample data for each address, once, of the campaign as it stands', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    await send(campaignKey, 'Boss@example.com', 'boss@EXAMPLE.com', 'me@example.com');
    const mails = await received(2);
    expect(mails.map(({ to }) => to).sort()).toEqual(['boss@EXAMPLE.com', 'me@example.com']);
    expect(new Set(mails.map(({ subject }) => subject))).toEqual(new Set(['Hello Ada']));
    await send(campaignKey, 'boss@example.com');
    await received(3);
  });

  it('says of a custom field what its default is', async () => {
    const field = { key: 'plan', displayName: 'Plan', type: 'TEXT', defaultValue: 'free' } as const;
    await fixture.get(CustomFieldsService).create(scope, field);
    const { campaignKey } = await fixture.draft(scope, 1, { subject: 'Your {{ custom.plan }} plan' });
    await send(campaignKey, 'boss@example.com');
    expect((await received(1)).map(({ subject }) => subject)).toEqual(['Your free plan']);
  });

  it('counts nowhere: not in the statistics, the deliveries or the plan’s e-mails', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    await send(campaignKey, 'boss@example.com');
    await received(1);
    const { statistics } = await fixture.get(CampaignStatisticsQuery).of(scope, campaignKey);
    expect(statistics.totalSent).toBe(0);
    const { totalElements } = await fixture
      .get(DeliveriesQuery)
      .list(scope, campaignKey, { page: 0, size: 10 });
    expect(totalElements).toBe(0);
    expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
  });

  it('has links that lead to nobody: the boss who forwards it unsubscribes no one', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    await send(campaignKey, 'reader-1@example.com');
    const [mail] = await received(1);
    const [{ delivery_id: deliveryId } = { delivery_id: '' }] = await fixture.test.query<{
      delivery_id: string;
    }>('select delivery_id from messaging.test_inbox_messages where environment_id = $1', [
      scope.environmentId,
    ]);
    const pages = fixture.get(MailPagesService);
    expect(mail?.links.unsubscribe).toMatch(/\/u\//);
    expect(await pages.describeMail(scope, { id: deliveryId })).toEqual([null, []]);
    await pages.unsubscribe(scope, { id: deliveryId }, 'everything', {
      how: 'ONE_CLICK',
      ipAddress: '203.0.113.7',
      userAgent: null,
    });
    const consents = await fixture.test.query(
      `select 1 from audience.consents where status = 'SUBSCRIBED' and environment_id = $1`,
      [scope.environmentId],
    );
    expect(consents).toHaveLength(1);
  });

  it('does not go to a suppressed address, and says which', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    await suppress('left@example.com');
    const sending = send(campaignKey, 'boss@example.com', 'Left@example.com');
    await expect(sending).rejects.toThrow(
      expect.objectContaining({ errors: { 'emails[1]': 'is suppressed' } }),
    );
    await expect(sending).rejects.toThrow(DomainValidationError);
    expect((await inbox()).totalElements).toBe(0);
  });

  it('is refused for a campaign that cannot become a mail, whoever would receive it', async () => {
    const nobody = await fixture.draft(scope, 0, { topicIds: [] });
    await send(nobody.campaignKey, 'boss@example.com');
    await received(1);
    const broken = await fixture.draft(scope, 0, { contentText: '{% if %}', topicIds: [] });
    const refusal = send(broken.campaignKey, 'boss@example.com');
    await expect(refusal).rejects.toThrow(PreSendRejectedError);
    await expect(refusal).rejects.toThrow(/text:/);
  });

  it('is sent at most a hundred times an hour', async () => {
    const { id, campaignKey } = await fixture.draft(scope, 1);
    await fixture.test.query(
      `insert into messaging.campaign_tests (id, environment_id, campaign_id, emails, created_at)
       values (gen_random_uuid(), $1, $2, 99, $3)`,
      [scope.environmentId, id, fixture.clock.now()],
    );
    fixture.clock.advance(20 * MINUTE);
    const sending = send(campaignKey, 'one@example.com', 'two@example.com');
    await expect(sending).rejects.toThrow(expect.objectContaining({ retryAfterSeconds: 40 * 60 }));
    await expect(sending).rejects.toThrow(TooManyTestMailsError);
    await send(campaignKey, 'one@example.com');
    fixture.clock.advance(41 * MINUTE);
    await send(campaignKey, 'one@example.com', 'two@example.com');
  });

  it('is not sent when its campaign is deleted first', async () => {
    const { campaignKey } = await fixture.draft(scope, 1);
    await fixture.get(CampaignsService).remove(scope, campaignKey);
    await expect(send(campaignKey, 'boss@example.com')).rejects.toThrow(NotFoundError);
  });
});
