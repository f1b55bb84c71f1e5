import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { prepareProject } from '#testing/programs/system';
import { CampaignLifecycleService } from '../campaigns/campaign-lifecycle.service.js';
import type { Campaign } from '../campaigns/campaign.js';
import { CampaignsService } from '../campaigns/campaigns.service.js';
import { MessagingFixture, MINUTE } from '../messaging.fixture.js';
import { faultOf, SendingGuardService } from './sending-guard.service.js';
import { SendingStopsService } from '../campaigns/sending-stops.service.js';

const DAY = 24 * 60 * MINUTE;

describe('the limits of a project’s sending', () => {
  it.each([
    [{ mails: 499, hardBounces: 499, complaints: 499 }, null],
    [{ mails: 500, hardBounces: 25, complaints: 1 }, null],
    [{ mails: 500, hardBounces: 26, complaints: 0 }, '26 of the last 500 mails went to addresses'],
    [{ mails: 1_000, hardBounces: 0, complaints: 3 }, null],
    [{ mails: 1_000, hardBounces: 0, complaints: 4 }, '4 of the last 1000 mails were called spam'],
  ])('of %j give %j', (figures, fault) => {
    const found = faultOf(figures);
    expect(found === null ? null : found.slice(0, fault?.length)).toBe(fault);
  });
});

describe('a project whose mail comes back too often', () => {
  let messaging: MessagingFixture;

  beforeAll(async () => {
    messaging = await MessagingFixture.open();
  });
  afterAll(async () => {
    await messaging.close();
  });

  /** Adds to a campaign's counts of the present minute. */
  async function note(
    { id, environmentId }: Campaign,
    { sent = 0, hardBounced = 0, hardRefused = 0, complained = 0 },
  ): Promise<void> {
    await messaging.test.query(
      `insert into messaging.campaign_minutes as m (campaign_id, minute, writer, environment_id, sent, hard_bounced, hard_refused, complained)
       values ($1, date_trunc('minute', $2::timestamptz), 40, $3, $4, $5, $6, $7)
       on conflict (campaign_id, minute, writer, environment_id) do update set sent = m.sent + excluded.sent,
         hard_bounced = m.hard_bounced + excluded.hard_bounced, complained = m.complained + excluded.complained`,
      [id, messaging.clock.now(), environmentId, sent, hardBounced, hardRefused, complained],
    );
  }

  const guard = () => messaging.get(SendingGuardService).stopProjects();
  const statusOf = async ({ id }: Campaign) => (await messaging.campaign(id)).status;
  const resume = (scope: ProjectScope, { campaignKey }: Campaign) =>
    messaging.get(CampaignLifecycleService).resume(scope, campaignKey);

  /** Another campaign of the same project, sent and written down. */
  async function another(scope: ProjectScope, like: Campaign): Promise<Campaign> {
    const { name, subject, contentText, topicIds } = like;
    const nothing = {
      translations: {},
      previewText: null,
      contentJson: null,
      fromEmail: null,
      fromName: null,
      replyTo: null,
    };
    const draft = { ...nothing, name, subject, contentText, topicIds, segmentIds: [] };
    const campaign = await messaging
      .get(CampaignsService)
      .create(scope, { ...draft, sendStrategy: null, scheduledAt: null, scheduledAtLocal: null });
    await messaging.get(CampaignLifecycleService).send(scope, campaign.campaignKey);
    await messaging.expand(scope, campaign.id);
    return campaign;
  }

  it('has its campaigns paused with the reason, and others go on', async () => {
    const [scope, other] = [await messaging.scope(), await messaging.scope()];
    const bad = await messaging.queuedCampaign(scope, 1);
    const [sibling, good] = [await another(scope, bad), await messaging.queuedCampaign(other, 1)];
    await note(bad, { sent: 300, hardBounced: 20 });
    await note(sibling, { sent: 200, hardBounced: 5 });
    await note(good, { sent: 600, hardBounced: 30 });
    await guard();
    expect([await statusOf(bad), await statusOf(sibling), await statusOf(good)]).toEqual(
      Array(3).fill('SENDING'),
    );
    await note(sibling, { hardBounced: 1 });
    await guard();
    expect([await statusOf(bad), await statusOf(sibling), await statusOf(good)]).toEqual([
      'PAUSED',
      'PAUSED',
      'SENDING',
    ]);
    const reason = /26 of the last 500 mails went to addresses that do not exist/;
    expect((await messaging.campaign(bad.id)).failure_reason).toMatch(reason);
    await expect(resume(scope, bad)).rejects.toMatchObject({
      code: 'invalid-state',
      message: expect.stringMatching(reason),
      currentState: 'PAUSED',
    });
  });

  it('starts no new campaign until an operator lets it, and is judged anew from then on', async () => {
    const scope = await messaging.scope();
    const first = await messaging.queuedCampaign(scope, 1);
    await note(first, { sent: 1_000, complained: 4 });
    await guard();
    const second = await another(scope, first);
    expect([await statusOf(first), await statusOf(second)]).toEqual(['PAUSED', 'PAUSED']);

    expect(await messaging.get(SendingStopsService).resume(scope)).toBe(true);
    expect(await messaging.get(SendingStopsService).resume(scope)).toBe(false);
    messaging.clock.advance(MINUTE);
    await resume(scope, first);
    await note(first, { sent: 400, complained: 2 });
    await guard();
    expect(await messaging.campaign(first.id)).toMatchObject({ status: 'SENDING', failure_reason: null });
    await note(first, { sent: 100 });
    await guard();
    expect(await statusOf(first)).toBe('PAUSED');
    expect(await messaging.get(SendingStopsService).reasonOf(scope)).toMatch(
      /^2 of the last 500 mails were called spam/,
    );
  });

  it('is judged by the last 24 hours, refusals of the next hop included', async () => {
    const scope = await messaging.scope();
    const campaign = await messaging.queuedCampaign(scope, 1);
    await note(campaign, { sent: 500, hardBounced: 25 });
    messaging.clock.advance(DAY + MINUTE);
    await note(campaign, { sent: 480, hardRefused: 24 });
    await guard();
    expect(await statusOf(campaign)).toBe('SENDING');
    await note(campaign, { hardBounced: 3 });
    await guard();
    expect(await statusOf(campaign)).toBe('PAUSED');
    expect(await messaging.get(SendingStopsService).reasonOf(scope)).toMatch(/^27 of the last 504 mails/);
  });
});

describe('a project whose messages come back too often', () => {
  let messaging: MessagingFixture;

  beforeAll(async () => {
    messaging = await MessagingFixture.open();
  });
  afterAll(() => messaging?.close());

  const guard = () => messaging.get(SendingGuardService).stopMessages();

  /** Messages of the project that were sent, of which the first came back or were called spam. */
  async function note(
    { environmentId }: ProjectScope,
    { sent = 0, bounced = 0, refused = 0, complained = 0, reason = 'hard' },
  ): Promise<void> {
    await messaging.test.query(
      `with made as (
         select platform.new_id() as id, n from generate_series(1, $3::int + $5::int) n
       )
       insert into messaging.message_events (environment_id, message_id, occurred_at, id, type, reason)
       select $1::bigint, id, $2::timestamptz, platform.new_id(), 'SENT', null from made where n <= $3
       union all select $1, id, $2, platform.new_id(), 'BOUNCED', $7 from made where n <= $4 or n > $3
       union all select $1, id, $2, platform.new_id(), 'COMPLAINED', null from made where n <= $6`,
      [environmentId, messaging.clock.now(), sent, bounced, refused, complained, reason],
    );
  }

  const stopsOf = ({ environmentId }: ProjectScope) =>
    messaging.test.query<{ stream: string; reason: string }>(
      'select stream, reason from messaging.sending_stops where environment_id = $1 and resumed_at is null',
      [environmentId],
    );

  it('has them stopped with the reason until an operator lets it, and others go on', async () => {
    const [scope, other] = [await messaging.scope(), await messaging.scope()];
    const campaign = await messaging.queuedCampaign(scope, 1);
    await note(scope, { sent: 490, bounced: 15, refused: 10 });
    await note(other, { sent: 600, bounced: 600, reason: 'mailbox' });
    await guard();
    expect(await stopsOf(scope)).toEqual([]);
    await note(scope, { refused: 1 });
    await guard();
    expect(await stopsOf(scope)).toEqual([
      {
        stream: 'TRANSACTIONAL',
        reason: '26 of the last 501 mails went to addresses that do not exist; more than 5 % stop a project.',
      },
    ]);
    expect(await stopsOf(other)).toEqual([]);
    // Campaigns go on.
    await messaging.get(SendingGuardService).stopProjects();
    expect((await messaging.campaign(campaign.id)).status).toBe('SENDING');

    messaging.clock.advance(MINUTE);
    expect(await messaging.get(SendingStopsService).resume(scope)).toBe(true);
    messaging.clock.advance(MINUTE);
    await note(scope, { sent: 500, bounced: 25 });
    await guard();
    expect(await stopsOf(scope)).toEqual([]);
  });

  it('is judged by a day, and by complaints', async () => {
    const scope = await messaging.scope();
    await note(scope, { sent: 1_000, complained: 3 });
    messaging.clock.advance(DAY + MINUTE);
    await note(scope, { sent: 500, complained: 1 });
    await guard();
    expect(await stopsOf(scope)).toEqual([]);
    await note(scope, { sent: 100, complained: 1 });
    await guard();
    expect(await stopsOf(scope)).toMatchObject([
      { reason: expect.stringMatching(/^2 of the last 600 mails were called spam/) },
    ]);
  });

  it('of its test environment is not judged', async () => {
    const { test } = await prepareProject(messaging.test, '');
    await note(test, { sent: 500, bounced: 500 });
    await guard();
    expect(await stopsOf(test)).toEqual([]);
  });
});
