import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { linkedContent } from '#testing/fixtures/reader-acts';
import { prepareProject } from '#testing/programs/system';
import { InvalidStateError, type ProjectScope } from '#kernel';
import type { Campaign } from '../../campaigns/campaign.js';
import { CampaignsService } from '../../campaigns/campaigns.service.js';
import { CampaignLifecycleService } from '../../campaigns/campaign-lifecycle.service.js';
import { PreSendAnalysisService } from '../../campaigns/pre-send-analysis.service.js';
import { TrackedEventsService } from '../../engagement/tracked-events.service.js';
import { type DeliveryRow, MessagingFixture } from '../../messaging.fixture.js';
import { CampaignExpansionService } from './campaign-expansion.service.js';

/** More than the first chunk of an expansion. */
const READERS = 1_100;

/** Stops the expansion when it asks for the second time. */
function afterOneChunk(): AbortSignal {
  let asked = 0;
  return Object.defineProperty(new AbortController().signal, 'aborted', { get: () => asked++ > 0 });
}

describe('a campaign that is sent again to those who did not open it', () => {
  let fixture: MessagingFixture;
  let scope: ProjectScope;
  let original: Campaign;
  let sent: readonly DeliveryRow[];
  let copy: Campaign;

  beforeAll(async () => {
    fixture = await MessagingFixture.open();
    scope = (await prepareProject(fixture.test, '')).test;
    original = await fixture.queuedCampaign(scope, READERS, { contentJson: linkedContent });
    fixture.engine.start();
    await isSent(original);
    sent = await deliveriesOf(original);
  });
  afterAll(() => fixture?.close());

  beforeEach(async () => {
    await fixture.test.query(
      `delete from messaging.delivery_engagement; delete from messaging.delivery_events; delete from audience.suppressions;
       update audience.consents set status = 'SUBSCRIBED'; update audience.subscribers set paused_until = null;
       update messaging.deliveries set bounced_at = null`,
    );
    await fixture.test.query('delete from messaging.deliveries where source_id <> $1', [original.id]);
    copy = await campaigns().duplicate(scope, original.campaignKey, { resendTo: 'NOT_OPENED' });
  });

  const campaigns = () => fixture.get(CampaignsService);
  const send = () => fixture.get(CampaignLifecycleService).send(scope, copy.campaignKey);
  const expand = (signal = new AbortController().signal) =>
    fixture.get(CampaignExpansionService).expand(scope, copy.id, signal);
  const isSent = ({ id }: Campaign) =>
    eventually('it is sent', async () => (await fixture.campaign(id)).status === 'SENT');
  const deliveriesOf = ({ id }: Campaign) =>
    fixture.test.query<DeliveryRow>(
      'select * from messaging.deliveries where source_id = $1 order by subscriber_id',
      [id],
    );
  const addresses = (rows: readonly DeliveryRow[]) => rows.map(({ address }) => address);
  const othersThan = (left: readonly DeliveryRow[]) => {
    const gone = new Set(addresses(left));
    return addresses(sent).filter((address) => !gone.has(address));
  };

  /** Opens these mails of the original: as a person, or as a proxy. */
  async function opens(mails: readonly DeliveryRow[], known: 'proxy' | null = null): Promise<void> {
    const [row] = await fixture.test.query<{ day: string; sent_at: Date }>(
      'select max(queued_on)::text as day, max(sent_at) as sent_at from messaging.deliveries where source_id = $1',
      [original.id],
    );
    const of = { environmentId: scope.environmentId, campaignId: original.id, queuedOn: row!.day };
    const linkSet = await fixture.linkSetOf(original.id);
    const at = new Date(row!.sent_at.getTime() + 60_000);
    const events = mails.map(({ id: deliveryId }) => ({
      ...of,
      deliveryId,
      linkSet,
      at,
      known,
      linkNumber: null,
      type: 'OPENED' as const,
      agent: 'other' as const,
    }));
    await fixture.get(TrackedEventsService).write(events);
  }

  it('goes to those whom the original reached, and whom no person opened it for', async () => {
    await opens(sent.slice(0, 3));
    await opens(sent.slice(3, 5), 'proxy');
    await fixture.test.query('update messaging.deliveries set bounced_at = now() where id = $1', [
      sent[6]!.id,
    ]);
    const left = [...sent.slice(0, 3), sent[6]!];
    const analysis = await fixture.get(PreSendAnalysisService).of(scope, copy.campaignKey);
    expect(analysis.audience).toMatchObject({ matched: READERS - 4, willReceive: READERS - 4 });
    await send();
    await expand();
    expect(addresses(await deliveriesOf(copy))).toEqual(othersThan(left));
    await isSent(copy);
  });

  it('goes to nobody who unsubscribed, was suppressed, paused or erased since', async () => {
    const [left, blocked, pausing, erased] = sent as [DeliveryRow, DeliveryRow, DeliveryRow, DeliveryRow];
    const { environmentId } = scope;
    await fixture.test.query(
      `update audience.consents c set status = 'UNSUBSCRIBED' from audience.subscribers b
       where b.id = c.subscriber_id and b.email = $1`,
      [left.address],
    );
    await fixture.test.query(
      `insert into audience.suppressions (environment_id, email_key, email, reason, suppressed_at, streams)
       values ($1, $2, $2, 'BLOCKED', now(), 'ALL')`,
      [environmentId, blocked.address],
    );
    await fixture.test.query(
      `update audience.subscribers set paused_until = now() + interval '1 year' where email = $1`,
      [pausing.address],
    );
    await fixture.test.query('update messaging.deliveries set subscriber_id = null where id = $1', [
      erased.id,
    ]);
    await send();
    await expand();
    expect(addresses(await deliveriesOf(copy))).toEqual(othersThan([left, blocked, pausing, erased]));
    await isSent(copy);
    await fixture.test.query(
      `update messaging.deliveries d set subscriber_id = b.id from audience.subscribers b where d.id = $1 and b.email = d.address`,
      [erased.id],
    );
  });

  it('leaves out who opens the original between two chunks, though its worker is killed there', async () => {
    await fixture.engine.stop(1_000);
    await send();
    await expand(afterOneChunk());
    const first = await deliveriesOf(copy);
    expect(first).toHaveLength(1_000);
    await opens(sent.slice(-10));
    await expand();
    expect(addresses(await deliveriesOf(copy))).toEqual(othersThan(sent.slice(-10)));
  });

  it('skips who opens the original while the mail waits', async () => {
    await send();
    await expand();
    const [early] = sent as [DeliveryRow];
    await opens([early]);
    fixture.engine.start();
    await isSent(copy);
    const rows = await deliveriesOf(copy);
    expect(rows.filter(({ state }) => state !== 'SENT')).toMatchObject([
      { address: early.address, state: 'SKIPPED', reason: 'opened' },
    ]);
    expect(rows).toHaveLength(READERS);
  });

  it('is refused unless the original is SENT, and its opens were recorded and are kept', async () => {
    const again = () => campaigns().duplicate(scope, original.campaignKey, { resendTo: 'NOT_OPENED' });
    const setting = (column: string) =>
      fixture.test.query(`update messaging.campaigns set ${column} where id = $1`, [original.id]);
    await setting(`status = 'PAUSED'`);
    await expect(again()).rejects.toMatchObject({ currentState: 'PAUSED', allowedStates: ['SENT'] });
    await setting(`status = 'SENT'`);
    const elsewhere = '00000000-0000-7000-8000-000000000001';
    const moving = 'update messaging.link_sets set campaign_id = $2 where campaign_id = $1';
    await fixture.test.query(moving, [original.id, elsewhere]);
    await expect(again()).rejects.toThrow(
      new InvalidStateError('The campaign’s opens were not recorded.', 'SENT', []),
    );
    const analysis = await fixture.get(PreSendAnalysisService).of(scope, copy.campaignKey);
    expect(analysis).toMatchObject({ status: 'FAILED', recipients: 0 });
    await fixture.test.query(moving, [elsewhere, original.id]);
    expect((await again()).resendOf).toBe(original.campaignKey);
  });

  it('is an ordinary copy without resendTo, from any state, with the same audience', async () => {
    const again = await campaigns().duplicate(scope, copy.campaignKey, {});
    expect(again).toMatchObject({ name: copy.name, resendOf: original.campaignKey });
    const draft = await campaigns().duplicate(scope, original.campaignKey, { name: 'Mine' });
    expect(draft).toMatchObject({ name: 'Mine', status: 'DRAFT', resendOf: null, scheduledAt: null });
    expect(draft).toMatchObject({ subject: original.subject, topicIds: original.topicIds });
    expect(draft.campaignKey).not.toBe(original.campaignKey);
  });
});
