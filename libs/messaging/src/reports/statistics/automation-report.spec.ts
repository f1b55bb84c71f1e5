import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NotFoundError } from '#kernel';
import { Database } from '#platform';
import { eventually } from '#testing/time/eventually';
import * as fc from '#testing/random/properties';
import {
  type Act,
  acts,
  expectedByLink,
  expectedTotals,
  linkedContent,
  READERS,
} from '#testing/fixtures/reader-acts';
import {
  AutomationsFixture,
  chain,
  delay,
  mail,
  rules,
  trigger,
  ways,
} from '../../automations/automations.fixture.js';
import { DeliveryFeedbackService } from '../../engagement/delivery-feedback.service.js';
import type { TrackedEvent } from '../../engagement/event-batch.query.js';
import { TrackedEventsService } from '../../engagement/tracked-events.service.js';
import { MailPersonalDataService } from '../../mail-personal-data.service.js';
import { ApplyRetention } from '../../retention.job.js';
import { automationDiscrepancies } from './automation-check.query.js';
import { AutomationReportQuery } from './automation-report.query.js';
import { MailStatisticsQuery, type StatisticsDimension } from './mail-statistics.query.js';
import { statisticsDiscrepancies } from './statistics-check.query.js';

const DAY = 24 * 3_600_000;
const RUNS = fc.runs(30);

interface SentMail {
  readonly id: string;
  readonly queuedOn: string;
  readonly sentAt: Date;
}

describe('the report of an automation', () => {
  let fixture: AutomationsFixture;

  beforeAll(async () => {
    fixture = await AutomationsFixture.open({
      RETENTION_EVENTS_DAYS: '60',
      RETENTION_DELIVERIES_DAYS: '400',
    });
    fixture.messaging.engine.start();
  });
  afterAll(() => fixture?.close());

  const get: AutomationsFixture['messaging']['get'] = (type) => fixture.messaging.get(type);
  const report = (id: string) => get(AutomationReportQuery).of(fixture.scope, id);
  const query = <Row extends object>(text: string, values: readonly unknown[] = []) =>
    fixture.messaging.test.query<Row>(text, [...values]);
  const expectNoDiscrepancies = async () => expect(await automationDiscrepancies(get(Database))).toEqual([]);

  /** `node: entered, left, sent` of each node. */
  const traffic = async (id: string) =>
    (await report(id)).nodes.map(
      ({ nodeId, isCurrent, entered, left, sent }) =>
        `${nodeId}${isCurrent ? '' : ' (earlier)'}: ${entered}, ${left}, ${sent}`,
    );

  async function enterAll(id: string, count: number) {
    const people = [];
    for (let index = 0; index < count; index += 1) people.push(await fixture.person());
    for (const { email } of people) await fixture.enter(id, email);
    await fixture.run();
    return people;
  }

  /** The mails of the automation, once so many are sent, in the order of the people. */
  const sentMails = (id: string, count: number) =>
    eventually(`${count} mails are sent`, async () => {
      const rows = await query<{ id: string; day: string; sent_at: Date }>(
        `select d.id, d.queued_on::text as day, d.sent_at from messaging.deliveries d
         join messaging.automation_runs r on r.id = messaging.run_of_step(d.source_id) and r.environment_id = d.environment_id
         join messaging.automation_versions v on v.id = r.version_id and v.environment_id = r.environment_id
         where v.automation_id = $1 and d.state = 'SENT' order by r.id`,
        [id],
      );
      if (rows.length < count) return null;
      return rows.map((row): SentMail => ({
        id: row.id,
        queuedOn: row.day,
        sentAt: row.sent_at,
      }));
    });

  it('is that of the nodes of the present version, then of those of earlier ones', async () => {
    const isVip = { rules: rules({ field: 'firstName', op: 'eq', value: 'Nobody' }) };
    const first = {
      nodes: JSON.stringify([
        trigger(),
        { id: 'vip', type: 'condition', config: isVip },
        mail('gift'),
        delay('pause', 'P1D'),
        mail('hello'),
      ]),
      edges: ways('start > vip', 'vip > gift: yes', 'vip > pause: no', 'pause > hello'),
    };
    const id = await fixture.active(first);
    expect(await traffic(id)).toEqual([
      'start: 0, 0, 0',
      'vip: 0, 0, 0',
      'gift: 0, 0, 0',
      'pause: 0, 0, 0',
      'hello: 0, 0, 0',
    ]);
    const [ada] = await enterAll(id, 3);
    expect(await traffic(id)).toEqual([
      'start: 3, 3, 0',
      'vip: 3, 3, 0',
      'gift: 0, 0, 0',
      'pause: 3, 0, 0',
      'hello: 0, 0, 0',
    ]);
    await fixture.automations.pause(fixture.scope, id);
    await fixture.automations.replaceContent(
      fixture.scope,
      id,
      chain(trigger(), mail('welcome'), mail('hello')),
    );
    await fixture.automations.activate(fixture.scope, id);
    await enterAll(id, 1);
    await get(Database).transaction(fixture.scope, () =>
      get(MailPersonalDataService).erase(fixture.scope, { subscriberId: ada!.id, addressDigest: '00' }),
    );
    await fixture.later(DAY);
    await sentMails(id, 4);
    expect(await traffic(id)).toEqual([
      'start: 4, 4, 0',
      'welcome: 1, 1, 1',
      'hello: 3, 3, 3',
      'vip (earlier): 3, 3, 0',
      'pause (earlier): 3, 3, 0',
    ]);
    const { automationKey, totals } = await report(id);
    expect(totals).toEqual({
      entered: 4,
      active: 0,
      completed: 3,
      converted: 0,
      failed: 0,
      cancelled: 1,
      sent: 4,
      delivered: 4,
      uniqueOpens: 0,
      uniqueClicks: 0,
      unsubscribed: 0,
    });
    expect(await report(automationKey)).toEqual(await report(id));
    await expectNoDiscrepancies();
  });

  it('tells how runs ended: at a goal, archived or left by exitWhen', async () => {
    const isAda = rules({ field: 'firstName', op: 'eq', value: 'Ada' });
    const converting = await fixture.active(
      chain(trigger(), { id: 'goal', type: 'goal', config: { name: 'Sold', rules: isAda } }, mail('more')),
    );
    await enterAll(converting, 2);
    expect((await report(converting)).totals).toMatchObject({ entered: 2, completed: 0, converted: 2 });
    const leaving = await fixture.active(chain(trigger({ exitWhen: isAda }), mail('offer')));
    await enterAll(leaving, 2);
    expect((await report(leaving)).totals).toMatchObject({ entered: 2, active: 0, cancelled: 2, sent: 0 });
    expect(await traffic(leaving)).toEqual(['start: 2, 2, 0', 'offer: 2, 2, 0']);
    const closing = await fixture.active(chain(trigger(), delay('wait', 'P1D')));
    await enterAll(closing, 2);
    await fixture.automations.pause(fixture.scope, closing);
    await fixture.automations.update(fixture.scope, closing, { status: 'ARCHIVED' });
    await fixture.run();
    expect((await report(closing)).totals).toMatchObject({ entered: 2, active: 0, cancelled: 2 });
    expect(await traffic(closing)).toEqual(['start: 2, 2, 0', 'wait: 2, 2, 0']);
    await expectNoDiscrepancies();
  });

  it('has no nodes before the first activation, and is of nobody else’s', async () => {
    const { id } = await fixture.automations.create(fixture.scope, {
      name: 'Later',
      description: null,
      triggerType: 'manual',
      triggerTopicId: null,
    });
    expect(await report(id)).toMatchObject({ automationId: id, totals: { entered: 0, sent: 0 }, nodes: [] });
    const other = await fixture.messaging.scope();
    await expect(get(AutomationReportQuery).of(other, id)).rejects.toThrow(NotFoundError);
    await expect(report('nothing like that')).rejects.toThrow(NotFoundError);
  });

  it('counts each answer once, and keeps its numbers when events are let go', async () => {
    const id = await fixture.active(chain(trigger(), mail('offer', { contentJson: linkedContent })));
    await enterAll(id, 5);
    const [hard, soft, spam, leaver, reader] = await sentMails(id, 5);
    const feedback = get(DeliveryFeedbackService);
    const answers = async () => {
      await feedback.bounced(fixture.scope, hard!.id, 'hard');
      await feedback.bounced(fixture.scope, soft!.id, 'mailbox');
      await feedback.complained(fixture.scope, spam!.id);
      await fixture.messaging.unsubscribes(fixture.scope, leaver!.id);
    };
    await answers();
    await answers();
    await get(TrackedEventsService).write([await eventOf(id, reader!, { ms: 5_000, place: 2 })]);
    const offer = {
      entered: 5,
      left: 5,
      sent: 5,
      delivered: 3,
      uniqueOpens: 1,
      uniqueClicks: 1,
      unsubscribed: 1,
    };
    const told = await report(id);
    expect(told.nodes[1]).toMatchObject({ nodeId: 'offer', ...offer });
    expect(told.nodes[1]?.links.map(({ linkNumber, clicks }) => [linkNumber, clicks])).toEqual([
      [2, 1],
      [1, 0],
      [3, 0],
      [4, 0],
    ]);
    expect(await complaints(id)).toBe(1);
    await expectNoDiscrepancies();
    const statistics = (by: StatisticsDimension) =>
      get(MailStatisticsQuery).of(fixture.scope, { interval: 'day', by });
    const byAutomation = await statistics('automation');
    expect(byAutomation.rows.filter(({ key }) => key === id)).toMatchObject([
      {
        sent: 5,
        delivered: 3,
        hardBounced: 1,
        softBounced: 1,
        complained: 1,
        unsubscribed: 1,
        uniqueClicks: 1,
      },
    ]);
    for (const by of ['topic', 'provider', 'relay'] as const)
      expect([by, (await statistics(by)).totals]).toEqual([by, byAutomation.totals]);
    expect((await statistics('campaign')).rows).toEqual([]);
    expect(await statisticsDiscrepancies(get(Database))).toEqual([]);
    fixture.messaging.clock.advance(100 * DAY);
    await get(ApplyRetention).run();
    expect(await query('select 1 from messaging.delivery_events')).toEqual([]);
    await answers();
    expect(await report(id)).toEqual(told);
    expect(await complaints(id)).toBe(1);
    await expectNoDiscrepancies();
  });

  async function complaints(id: string): Promise<number> {
    const [row] = await query<{ n: number }>(
      `select sum(complained)::int as n from messaging.automation_hours h
       join messaging.automation_versions v on v.id = h.version_id and v.environment_id = h.environment_id
       where v.automation_id = $1 and h.hour > '-infinity'`,
      [id],
    );
    return row!.n;
  }

  async function eventOf(
    id: string,
    of: SentMail,
    { ms, place, known = null }: Omit<Act, 'reader' | 'known'> & Partial<Act>,
  ): Promise<TrackedEvent> {
    const [set] = await query<{ id: string; version_id: string; place: number; urls: string[] }>(
      `select s.id, s.version_id, s.place, s.urls from messaging.link_sets s
       join messaging.automation_versions v on v.id = s.version_id and v.environment_id = s.environment_id
       where v.automation_id = $1`,
      [id],
    );
    return {
      environmentId: fixture.scope.environmentId,
      campaignId: null,
      versionId: Number(set!.version_id),
      place: set!.place,
      queuedOn: of.queuedOn,
      deliveryId: of.id,
      linkSet: Number(set!.id),
      type: place === 0 ? 'OPENED' : 'CLICKED',
      linkNumber: place === 0 ? null : place,
      url: set!.urls[place - 1] ?? null,
      at: new Date(of.sentAt.getTime() + ms),
      known,
      agent: 'other',
    };
  }

  describe('of mails with links', () => {
    let id: string;
    let mails: readonly SentMail[];

    beforeAll(async () => {
      id = await fixture.active(chain(trigger(), mail('offer', { contentJson: linkedContent })));
      await enterAll(id, READERS);
      mails = await sentMails(id, READERS);
    });

    async function write(made: readonly Act[]): Promise<void> {
      const events = [];
      for (const act of made) events.push(await eventOf(id, mails[act.reader]!, act));
      await get(TrackedEventsService).write(events);
    }

    const forgetAll = () =>
      query(`
        delete from messaging.delivery_events;
        delete from messaging.delivery_engagement;
        delete from messaging.automation_link_counters;
        update messaging.automation_hours set opened = 0, unique_opens = 0, clicked = 0, unique_clicks = 0, hard_bounced = 0,
          soft_bounced = 0, unsubscribed = 0, complained = 0`);

    async function expectCounted(made: readonly Act[]): Promise<void> {
      const { uniqueOpens, uniqueClicks, totalClicked } = expectedTotals(made);
      const { nodes, totals } = await report(id);
      const offer = nodes.find(({ nodeId }) => nodeId === 'offer');
      expect(offer).toMatchObject({ sent: READERS, uniqueOpens, uniqueClicks });
      expect(totals).toMatchObject({ sent: READERS, uniqueOpens, uniqueClicks });
      const links = new Map(
        offer?.links.map((link) => [link.linkNumber, [link.clicks, link.uniqueClicks] as const]),
      );
      expect(links).toEqual(expectedByLink(made));
      expect(offer?.links.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(totalClicked);
      await expectNoDiscrepancies();
    }

    it('counts people’s opens and clicks, in whatever batches they come', async () => {
      const sizes = fc.array(fc.integer({ min: 1, max: 10 }), { maxLength: 10 });
      await fc.assert(
        fc.asyncProperty(acts, sizes, async (made, batches) => {
          await forgetAll();
          let begin = 0;
          for (const size of [...batches, made.length]) {
            await write(made.slice(begin, begin + size));
            begin += size;
          }
          await expectCounted(made);
        }),
        { numRuns: RUNS },
      );
    });

    it('counts them the same when several processes write them at once', async () => {
      await fc.assert(
        fc.asyncProperty(acts, async (made) => {
          await forgetAll();
          const shares = [0, 1, 2, 3].map((share) => made.filter((_, index) => index % 4 === share));
          await Promise.all(shares.map(write));
          await expectCounted(made);
        }),
        { numRuns: RUNS },
      );
    });
  });

  it('is checked against the rows: a wrong number is named by its node', async () => {
    const id = await fixture.active(chain(trigger(), mail('offer')));
    await enterAll(id, 1);
    await sentMails(id, 1);
    const miscount = (by: number) =>
      query(
        `update messaging.automation_hours h set sent = sent + $2 from messaging.automation_versions v
         where v.id = h.version_id and v.environment_id = h.environment_id and v.automation_id = $1 and h.sent > 0`,
        [id, by],
      );
    await miscount(1);
    const wrong = { automationId: id, nodeId: 'offer', counter: 'sent', counted: 2, actual: 1 };
    expect(await automationDiscrepancies(get(Database))).toMatchObject([
      { ...wrong, day: expect.any(Date) },
      { ...wrong, day: null },
    ]);
    await miscount(-1);
    await expectNoDiscrepancies();
  });
});
