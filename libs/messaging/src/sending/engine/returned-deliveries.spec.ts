import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { AddressChangesService, consentProof, SuppressionsService } from '#audience';
import { newId, parseEmailAddress, type ProjectScope } from '#kernel';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { Publisher } from '#platform';
import { WebhookPublisherService } from '#webhooks';
import { DeliveryFeedbackService } from '../../engagement/delivery-feedback.service.js';
import { type DeliveryRow, MessagingFixture } from '../../messaging.fixture.js';

const DAY_MS = 24 * 60 * 60_000;

describe('what the next hop says of an address', () => {
  let sink: SmtpSink;
  let messaging: MessagingFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    sink = await startSmtpSink();
    messaging = await MessagingFixture.open({ SMTP_URL: sink.url }, WebhookPublisherService);
  });
  beforeEach(async () => {
    scope = await messaging.scope();
  });
  afterEach(() => messaging.clear());
  afterAll(async () => {
    await messaging.close();
    await sink.stop();
  });

  /** A campaign to two people, which the next hop answers with this; all deliveries afterwards. */
  async function refusedCampaign(reply: string, prepare: () => Promise<void> = async () => undefined) {
    const behavesAgain = sink.behave({ at: 'rcpt', action: { reply } });
    const campaign = await messaging.queuedCampaign(scope, 2);
    await prepare();
    messaging.engine.start();
    const rows = await messaging.settled('all are refused', ({ state }) => state === 'FAILED');
    behavesAgain();
    return { campaign, rows };
  }

  const areSuppressed = (rows: readonly DeliveryRow[]) =>
    Promise.all(rows.map(({ address }) => messaging.get(SuppressionsService).isSuppressed(scope, address)));

  /** Each person's mailbox was full for campaigns of so many days ago. */
  async function fullBefore(...daysAgo: number[]): Promise<void> {
    for (const days of daysAgo) {
      await messaging.test.query(
        `insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key,
           message_id, state, reason, next_attempt_at, created_at, finished_at)
         select gen_random_uuid(), $2::timestamptz::date, d.environment_id, 'CAMPAIGN', $1, d.subscriber_id, d.address, d.address_key,
           d.message_id, 'FAILED', 'mailbox', $2, $2, $2
         from messaging.deliveries d where d.state = 'PENDING'`,
        [newId(), new Date(messaging.clock.now().getTime() - days * DAY_MS)],
      );
    }
  }

  it('when it does not exist suppresses it, and counts when the project is judged', async () => {
    const { campaign, rows } = await refusedCampaign('550 5.1.1 No such user');
    expect(await areSuppressed(rows)).toEqual([true, true]);
    const [minutes] = await messaging.test.query(
      `select sum(sent)::int as sent, sum(hard_refused)::int as refused, sum(bounced)::int as bounced
       from messaging.campaign_minutes where campaign_id = $1`,
      [campaign.id],
    );
    expect(minutes).toEqual({ sent: 0, refused: 2, bounced: 0 });
  });

  it('when it is about the sender leaves it alone, and counts when the domain is judged', async () => {
    const { campaign, rows } = await refusedCampaign('550 5.7.26 Unauthenticated mail is not accepted');
    expect(rows.map(({ reason }) => reason)).toEqual(['sender', 'sender']);
    expect(await areSuppressed(rows)).toEqual([false, false]);
    const [minutes] = await messaging.test.query(
      `select sum(sent)::int as sent, sum(hard_refused)::int as hard, sum(sender_refused)::int as refused, sum(sender_bounced)::int as bounced
       from messaging.campaign_minutes where campaign_id = $1`,
      [campaign.id],
    );
    expect(minutes).toEqual({ sent: 0, hard: 0, refused: 2, bounced: 0 });
  });

  it('when its mailbox is full leaves it alone', async () => {
    const { rows } = await refusedCampaign('552 5.2.2 Mailbox full', () => fullBefore(20));
    expect(rows.map(({ reason }) => reason)).toEqual(Array(4).fill('mailbox'));
    expect(await areSuppressed(rows)).toEqual(Array(4).fill(false));
  });

  it('when its mailbox has been full for three campaigns and two weeks suppresses it', async () => {
    const { rows } = await refusedCampaign('552 5.2.2 Mailbox full', () => fullBefore(14, 7));
    expect(await areSuppressed(rows)).toEqual(Array(6).fill(true));
  });

  const isListenedTo = async () => {
    await messaging.test.query(
      `insert into webhooks.endpoints (id, environment_id, project_id, url, secret, status, created_at, updated_at)
       values (gen_random_uuid(), $1, $2, 'https://hooks.example', '', 'ENABLED', now(), now())`,
      [scope.environmentId, scope.projectId],
    );
    await (messaging.get(Publisher) as WebhookPublisherService).refresh();
  };

  it('is told of the person who had it, so that an erasure finds it, where they have another one by now', async () => {
    await isListenedTo();
    await messaging.queuedCampaign(scope, 1);
    messaging.engine.start();
    const [mail] = await messaging.settled('it is sent', ({ state }) => state === 'SENT');
    const [person] = await messaging.test.query<{ id: string }>(
      'select subscriber_id as id from messaging.deliveries where id = $1',
      [mail?.id],
    );
    const parsed = parseEmailAddress('elsewhere@example.net');
    if ('fault' in parsed) throw new Error(parsed.fault);
    const wanted = { address: parsed.address, emailConfirmed: null, patch: {} };
    await messaging
      .get(AddressChangesService)
      .change(scope, { by: 'id', id: person!.id }, wanted, consentProof('API_KEY', null));
    await messaging.get(DeliveryFeedbackService).bounced(scope, mail!.id, 'hard');
    expect(
      await messaging.test.query(
        `select subscriber_id, data ->> 'email' as email from webhooks.events
         where environment_id = $1 and type = 'suppression.added'`,
        [scope.environmentId],
      ),
    ).toEqual([{ subscriber_id: person!.id, email: mail!.address }]);
  });

  it.each([
    ['550 5.1.1 No such user', 'email.bounced', { bounceClass: 'hard' }],
    ['554 5.7.1 Message refused as spam', 'email.failed', { reason: expect.any(String) }],
  ])('is told to those who listen: %s is %s', async (reply, type, facts) => {
    await isListenedTo();
    const { campaign } = await refusedCampaign(reply);
    const told = await messaging.test.query(
      `select type, data from webhooks.events where type like 'email.%' and data ->> 'campaignId' = $1`,
      [campaign.id],
    );
    const event = { type, data: expect.objectContaining({ ...facts, detail: expect.any(String) }) };
    expect(told).toEqual([event, event]);
  });
});
