import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { SegmentsService, TopicsService } from '#audience';
import { InUseError, InvalidStateError, type ProjectScope } from '#kernel';
import { MessagingFixture, MINUTE } from '../messaging.fixture.js';
import type { Campaign } from './campaign.js';
import { CampaignLifecycleService } from './campaign-lifecycle.service.js';
import { CampaignSchedulerService } from './campaign-scheduler.service.js';
import { CampaignsService } from './campaigns.service.js';
import { PreSendRejectedError, ScheduleMissingError } from './campaign.errors.js';
import { PreSendAnalysisService } from './pre-send-analysis.service.js';
import { CampaignRepository } from './campaign.repository.js';

const HOUR = 60 * MINUTE;
const EVERYBODY = JSON.stringify({ version: 1, where: { field: 'email', op: 'exists' } });

describe('scheduled campaigns', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
  });
  afterAll(() => fixture.close());

  beforeEach(async () => {
    await fixture.test.query(
      `delete from messaging.campaigns; delete from messaging.deliveries;
         delete from audience.subscribers; delete from audience.topics; delete from platform.jobs`,
    );
    scope = await fixture.scope();
  });

  const sending = () => fixture.get(CampaignLifecycleService);
  const inFuture = (milliseconds: number) => new Date(fixture.clock.now().getTime() + milliseconds);
  const pass = () => fixture.get(CampaignSchedulerService).pass();

  /** To two readers; the next one to the same. */
  async function scheduled(after?: Campaign): Promise<Campaign> {
    const audience = after === undefined ? {} : { topicIds: after.topicIds };
    const readers = after === undefined ? 2 : 0;
    const draft = await fixture.draft(scope, readers, { scheduledAt: inFuture(HOUR), ...audience });
    return sending().schedule(scope, draft.campaignKey);
  }

  const suppressAll = async () => {
    for (const { email } of await fixture.test.query<{ email: string }>(
      'select email from audience.subscribers',
    ))
      await fixture.test.query(
        `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at)
         values ($1, $2, $2, 'SPAM_COMPLAINT', now())`,
        [scope.environmentId, email],
      );
  };

  const queuedEvents = async () =>
    (await fixture.test.query(`select 1 from platform.jobs where name = 'campaigns.expand'`)).length;

  it('wait until their time and not a moment longer', async () => {
    const campaign = await scheduled();
    expect(campaign).toMatchObject({ status: 'SCHEDULED', preSendStatus: 'PASSED' });
    fixture.clock.advance(HOUR - 1);
    await pass();
    expect((await fixture.campaign(campaign.id)).status).toBe('SCHEDULED');
    fixture.clock.advance(1);
    await pass();
    expect(await fixture.campaign(campaign.id)).toMatchObject({ status: 'QUEUED_FOR_SENDING', reserved: 2 });
  });

  it('keep their topics and segments active until they are sent, paused ones too, and cancelled ones not', async () => {
    const [topics, segments] = [fixture.get(TopicsService), fixture.get(SegmentsService)];
    const segment = await segments.create(scope, { name: 'Everybody', rules: EVERYBODY });
    const draft = await fixture.draft(scope, 2, { scheduledAt: inFuture(HOUR), segmentIds: [segment.id] });
    const [topic] = await fixture.test.query<{ key: string }>('select topic_key as key from audience.topics');
    const turnOff = [
      (status: 'INACTIVE' | 'ARCHIVED') => topics.update(scope, topic!.key, { status }),
      (status: 'INACTIVE' | 'ARCHIVED') => segments.update(scope, segment.id, { status }),
    ];
    await sending().schedule(scope, draft.campaignKey);
    for (const off of turnOff) {
      await expect(off('INACTIVE')).rejects.toThrow(InUseError);
      await expect(off('ARCHIVED')).rejects.toThrow(`is used by the campaign ${draft.campaignKey} “News”`);
    }
    await fixture.get(CampaignLifecycleService).cancel(scope, draft.campaignKey);
    for (const off of turnOff) expect(await off('INACTIVE')).toMatchObject({ status: 'INACTIVE' });
  });

  it('cannot be made of a draft whose segment is not active any more', async () => {
    const segments = fixture.get(SegmentsService);
    const segment = await segments.create(scope, { name: 'Everybody', rules: EVERYBODY });
    const draft = await fixture.draft(scope, 2, { scheduledAt: inFuture(HOUR), segmentIds: [segment.id] });
    await segments.update(scope, segment.id, { status: 'INACTIVE' });
    await expect(sending().schedule(scope, draft.campaignKey)).rejects.toThrow(PreSendRejectedError);
    await segments.update(scope, segment.id, { status: 'ACTIVE' });
    expect(await sending().schedule(scope, draft.campaignKey)).toMatchObject({ status: 'SCHEDULED' });
  });

  it('are started once, however many workers look at the same time', async () => {
    const first = await scheduled();
    const campaigns = [first, await scheduled(first), await scheduled(first)];
    fixture.clock.advance(HOUR);
    const workers = Array.from(
      { length: 4 },
      () =>
        new CampaignSchedulerService(
          fixture.get(CampaignRepository),
          fixture.get(PreSendAnalysisService),
          fixture.get(CampaignLifecycleService),
          pino({ level: 'silent' }),
        ),
    );
    await Promise.all(workers.map((worker) => worker.pass()));
    await pass();
    const states = await Promise.all(campaigns.map(({ id }) => fixture.campaign(id)));
    expect(states.map(({ status }) => status)).toEqual(Array(3).fill('QUEUED_FOR_SENDING'));
    expect(await queuedEvents()).toBe(3);
    expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 6 });
  });

  it('are sent up to a day late when nothing ran at their time', async () => {
    const campaign = await scheduled();
    fixture.clock.advance(25 * HOUR);
    await pass();
    expect((await fixture.campaign(campaign.id)).status).toBe('QUEUED_FOR_SENDING');
  });

  it('are missed when it is later than that, and the next send says so if it is refused', async () => {
    const campaign = await scheduled();
    fixture.clock.advance(25 * HOUR + 1);
    await pass();
    expect(await fixture.campaign(campaign.id)).toMatchObject({ status: 'FAILED', failure_reason: 'missed' });
    expect(await queuedEvents()).toBe(0);
    await suppressAll();
    await expect(sending().send(scope, campaign.campaignKey)).rejects.toThrow(
      /Nobody would receive it\. The last sending failed: missed/,
    );
    await fixture.test.query('delete from audience.suppressions');
    expect((await sending().send(scope, campaign.campaignKey)).status).toBe('QUEUED_FOR_SENDING');
  });

  it('are checked again at their time, and fail when they do not pass', async () => {
    const campaign = await scheduled();
    await suppressAll();
    fixture.clock.advance(HOUR);
    await pass();
    expect(await fixture.campaign(campaign.id)).toMatchObject({
      status: 'FAILED',
      failure_reason: 'Nobody would receive it.',
      pre_send_status: 'FAILED',
    });
    expect(await fixture.usage(scope)).toEqual({ used: 0, reserved: 0 });
  });

  it('do not start when their schedule was taken back, moved or cancelled in time', async () => {
    const campaigns = fixture.get(CampaignsService);
    const cleared = await scheduled();
    const moved = await scheduled(cleared);
    await campaigns.revise(scope, cleared.campaignKey, { scheduledAt: null });
    await campaigns.revise(scope, moved.campaignKey, { scheduledAt: inFuture(2 * HOUR), subject: 'Other' });
    fixture.clock.advance(HOUR);
    await pass();
    expect((await fixture.campaign(cleared.id)).status).toBe('DRAFT');
    expect(await fixture.campaign(moved.id)).toMatchObject({ status: 'SCHEDULED', pre_send_status: null });
    fixture.clock.advance(HOUR);
    await pass();
    expect((await fixture.campaign(moved.id)).status).toBe('QUEUED_FOR_SENDING');
  });

  it('are not kept from their time by one that cannot start', async () => {
    const broken = await scheduled();
    const fine = await scheduled(broken);
    await fixture.test.query(
      `update messaging.campaigns set from_email = '', content_json = '{' where id = $1`,
      [broken.id],
    );
    fixture.clock.advance(HOUR);
    await pass();
    expect((await fixture.campaign(broken.id)).status).toBe('FAILED');
    expect((await fixture.campaign(fine.id)).status).toBe('QUEUED_FOR_SENDING');
  });

  it('are refused without a time to come, when they would not pass, and twice', async () => {
    const none = await fixture.draft(scope, 1);
    await expect(sending().schedule(scope, none.campaignKey)).rejects.toThrow(ScheduleMissingError);
    const past = await fixture.draft(scope, 0, { scheduledAt: inFuture(HOUR) });
    await expect(sending().schedule(scope, past.campaignKey)).rejects.toThrow(PreSendRejectedError);
    expect(await fixture.campaign(past.id)).toMatchObject({ status: 'DRAFT', pre_send_status: 'FAILED' });
    fixture.clock.advance(HOUR);
    await expect(sending().schedule(scope, past.campaignKey)).rejects.toThrow(ScheduleMissingError);
    const { campaignKey } = await fixture.draft(scope, 0, {
      scheduledAt: inFuture(HOUR),
      topicIds: none.topicIds,
    });
    await sending().schedule(scope, campaignKey);
    await expect(sending().schedule(scope, campaignKey)).rejects.toThrow(InvalidStateError);
  });
});
