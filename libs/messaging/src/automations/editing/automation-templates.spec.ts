import { evaluateDueSegments } from '#testing/time/due-segments';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import { CustomFieldsService, SubscriberEventsService, TopicsService, type TopicView } from '#audience';
import { eventually } from '#testing/time/eventually';
import { TrackingService } from '../../engagement/tracking.service.js';
import { address, AutomationsFixture } from '../automations.fixture.js';
import { splitSide } from '../runs/step-executor.service.js';
import { automationTemplateNames, AutomationTemplatesService } from './automation-templates.service.js';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const DAY = 24 * HOUR;
const READER = { method: 'GET', userAgent: 'Mozilla/5.0 (Windows NT 10.0; Win64; x64)' };

interface Installed {
  readonly id: string;
  readonly topic: TopicView;
}

describe('the ready automation', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
    fixture.messaging.engine.start();
  });
  afterAll(() => fixture?.close());

  const get: AutomationsFixture['messaging']['get'] = (type) => fixture.messaging.get(type);

  async function installed(template: string): Promise<Installed> {
    const topic = await get(TopicsService).create(fixture.scope, {
      name: template,
      doubleOptInEnabled: false,
    });
    const wish = { template, topicKey: topic.topicKey, segmentKey: null };
    const { id, automationKey } = await get(AutomationTemplatesService).install(fixture.scope, wish);
    expect(await fixture.view(id)).toMatchObject({ automationKey, status: 'DRAFT' });
    await fixture.automations.activate(fixture.scope, automationKey);
    return { id, topic };
  }

  /** Moves to the next time of that hour (UTC), of the day of the week if one is named: 1 is Monday. */
  async function nextTime(hour: number, day?: number): Promise<void> {
    const { clock } = fixture.messaging;
    const next = new Date(clock.now());
    next.setUTCHours(hour, 0, 0, 0);
    const isMeant = () => next > clock.now() && (day === undefined || next.getUTCDay() === day);
    while (!isMeant()) next.setUTCDate(next.getUTCDate() + 1);
    clock.advance(next.getTime() - clock.now().getTime());
    await evaluated();
  }

  /** Segments are evaluated, and people go on. */
  async function evaluated(): Promise<void> {
    fixture.messaging.clock.advance(6 * MINUTE);
    await evaluateDueSegments(get);
    await fixture.run();
  }

  async function later(milliseconds: number): Promise<void> {
    await fixture.later(milliseconds);
    fixture.messaging.engine.wake();
  }

  const subjects = async (email: string) =>
    (
      await fixture.messaging.test.query<{ subject: string }>(
        'select subject from messaging.test_inbox_messages where to_address = $1 order by received_at',
        [email],
      )
    ).map(({ subject }) => subject);

  /** Waits until so many mails have come and are known to be sent; resolves to their subjects. */
  const mails = (email: string, count: number) =>
    eventually(`${count} mails to ${email}`, async () => {
      const [row] = await fixture.messaging.test.query<{ sent: number }>(
        `select count(*)::int as sent from messaging.deliveries where address = $1 and state = 'SENT'`,
        [email],
      );
      return row?.sent === count ? await subjects(email) : null;
    });

  /** A minute later the latest mail is opened, or its first link followed. */
  async function looks(email: string, how: 'opens' | 'clicks'): Promise<void> {
    fixture.messaging.clock.advance(MINUTE);
    const [row] = await fixture.messaging.test.query<{ raw: Buffer }>(
      'select raw from messaging.test_inbox_messages where to_address = $1 order by received_at desc limit 1',
      [email],
    );
    const { html = '' } = await PostalMime.parse(row!.raw);
    const token = (kind: string) => new RegExp(`/${kind}/([\\w-]+)`).exec(html)?.[1] ?? '';
    if (how === 'opens') expect(get(TrackingService).open(token('o'), READER)).toBe(true);
    else expect(await get(TrackingService).follow(token('l'), READER)).toMatch(/^https:\/\/example\.com\//);
    await get(TrackingService).flush();
  }

  const reports = (email: string, name: string) =>
    get(SubscriberEventsService).record(fixture.scope, address(email), { name });
  const path = async ({ id }: Installed, email: string) => (await fixture.paths(id, email))[0];

  it('welcome greets a new subscriber, and goes on by whether they followed a link', async () => {
    const welcome = await installed('welcome');
    const joins = () => fixture.person({ topicKeys: [welcome.topic.topicKey] });
    const [keen, idle] = [await joins(), await joins()];
    await fixture.run();
    for (const { email } of [keen, idle]) expect(await mails(email, 1)).toEqual(['Welcome to Acme News']);
    await looks(keen.email, 'clicks');
    await looks(idle.email, 'opens');
    await later(2 * DAY);
    expect((await mails(keen.email, 2))[1]).toBe('Three tips to get more out of Acme News');
    expect((await mails(idle.email, 2))[1]).toBe('Have you had a look yet?');
    const begin = 'COMPLETED: start, greeting, two_days, has_clicked';
    expect(await path(welcome, keen.email)).toBe(`${begin}, tips`);
    expect(await path(welcome, idle.email)).toBe(`${begin}, invitation`);
  });

  it('onboarding helps until the first steps are taken, and offers a call on a working day at nine', async () => {
    const onboarding = await installed('onboarding');
    await nextTime(10, 4);
    const people = [];
    for (let index = 0; index < 3; index += 1) {
      const person = await fixture.person({ topicKeys: [onboarding.topic.topicKey] });
      await reports(person.email, 'account.created');
      people.push(person.email);
    }
    const [fast, slow, never] = people as [string, string, string];
    await fixture.run();
    for (const email of people) expect(await mails(email, 1)).toEqual(['Your first step with Acme News']);
    await reports(fast, 'onboarding.completed');
    await later(DAY);
    expect(await path(onboarding, fast)).toBe('CONVERTED: start, first_step, one_day, done_early');
    for (const email of [slow, never]) expect((await mails(email, 2))[1]).toBe('Can we help you?');
    await reports(slow, 'onboarding.completed');
    // From Friday, three days are Monday; at ten it is too late for nine.
    await later(3 * DAY);
    expect(await path(onboarding, never)).toMatch(/^ACTIVE: .*, morning WAITING$/);
    await later(DAY);
    expect((await mails(never, 3))[2]).toBe('Shall we do it together?');
    const middle = 'start, first_step, one_day, done_early, help, three_days, morning, done';
    expect(await path(onboarding, slow)).toBe(`CONVERTED: ${middle}`);
    expect(await path(onboarding, never)).toBe(`COMPLETED: ${middle}, offer_call`);
  });

  it('win-back writes to customers who stay away, with one of two offers, until they order again', async () => {
    const winBack = await installed('win-back');
    const customers: { readonly id: string; readonly email: string; readonly side: 'a' | 'b' }[] = [];
    for (const side of ['a', 'b'] as const) {
      for (let found = 0; found < 2;) {
        const person = await fixture.person({ topicKeys: [winBack.topic.topicKey] });
        if (splitSide({ a: 50, b: 50 }, person.id, `${winBack.id}/which_offer`) !== side) continue;
        found += 1;
        customers.push({ ...person, side });
        await reports(person.email, 'order.completed');
      }
    }
    const stranger = await fixture.person({ topicKeys: [winBack.topic.topicKey] });
    await evaluated();
    expect(await fixture.totals(winBack.id)).toEqual([0, 0, 0]);
    fixture.messaging.clock.advance(91 * DAY);
    await evaluated();
    expect(await fixture.totals(winBack.id)).toEqual([4, 0, 4]);
    for (const { email } of customers) expect(await mails(email, 1)).toEqual(['We miss you, Ada']);
    const [quick, other, back, away] = customers as [
      (typeof customers)[0],
      (typeof customers)[0],
      (typeof customers)[0],
      (typeof customers)[0],
    ];
    await reports(quick.email, 'order.completed');
    await later(7 * DAY);
    expect(await path(winBack, quick.email)).toBe('CONVERTED: start, missed, one_week, back_at_once');
    expect((await mails(other.email, 2))[1]).toBe('10 % off your next order');
    for (const { email } of [back, away])
      expect((await mails(email, 2))[1]).toBe('Your next order ships for free');
    await reports(back.email, 'order.completed');
    await later(14 * DAY);
    const middle = 'start, missed, one_week, back_at_once, which_offer';
    expect(await path(winBack, other.email)).toBe(`COMPLETED: ${middle}, discount, two_weeks, back`);
    expect(await path(winBack, back.email)).toBe(`CONVERTED: ${middle}, free_shipping, two_weeks, back`);
    expect(await path(winBack, away.email)).toBe(`COMPLETED: ${middle}, free_shipping, two_weeks, back`);
    expect(await subjects(stranger.email)).toEqual([]);
  });

  it('birthday sends a present each year at nine, and reminds whoever has not followed it', async () => {
    const birthday = await installed('birthday');
    await nextTime(12);
    const tomorrow = new Date(fixture.messaging.clock.now().getTime() + DAY).toISOString().slice(5, 10);
    const bornOn = (day: string) =>
      fixture.person({
        topicKeys: [birthday.topic.topicKey],
        customFields: { birthday: `1990-${day === '02-29' ? '02-28' : day}` },
      });
    const [curious, busy] = [await bornOn(tomorrow), await bornOn(tomorrow)];
    const stranger = await bornOn(tomorrow === '06-15' ? '06-20' : '06-15');
    await evaluated();
    expect(await fixture.totals(birthday.id)).toEqual([0, 0, 0]);
    await nextTime(0);
    expect(await path(birthday, busy.email)).toBe('ACTIVE: start, morning WAITING');
    expect(await subjects(busy.email)).toEqual([]);
    await nextTime(9);
    for (const { email } of [curious, busy]) expect(await mails(email, 1)).toEqual(['Happy birthday, Ada!']);
    await looks(curious.email, 'clicks');
    await later(3 * DAY);
    expect((await mails(busy.email, 2))[1]).toBe('Your present is still here');
    await later(HOUR);
    const begin = 'COMPLETED: start, morning, wishes, three_days, has_clicked';
    expect(await path(birthday, curious.email)).toBe(`${begin}, end`);
    expect(await path(birthday, busy.email)).toBe(`${begin}, reminder`);
    expect(await subjects(curious.email)).toHaveLength(1);
    await evaluated();
    while (fixture.messaging.clock.now().toISOString().slice(5, 10) !== tomorrow)
      fixture.messaging.clock.advance(DAY);
    await evaluated();
    await nextTime(9);
    expect((await mails(busy.email, 3))[2]).toBe('Happy birthday, Ada!');
    expect(await fixture.paths(birthday.id, busy.email)).toHaveLength(2);
    expect(await subjects(stranger.email)).toEqual([]);
  });

  it('re-engagement asks readers who do not look twice, and takes them off the topic if they stay silent', async () => {
    const reengagement = await installed('re-engagement');
    const people = [];
    for (let index = 0; index < 3; index += 1)
      people.push(await fixture.person({ topicKeys: [reengagement.topic.topicKey] }));
    const [atOnce, atLast, silent] = people as [(typeof people)[0], (typeof people)[0], (typeof people)[0]];
    // Three mails of another automation make them readers who do not look.
    const letter = (id: string) => ({
      id,
      type: 'email',
      config: { subject: id, contentJson: { blocks: [{ type: 'text', html: '<p>News</p>' }] } },
    });
    const letters = await fixture.active(
      {
        nodes: JSON.stringify([
          { id: 'start', type: 'trigger', config: {} },
          letter('one'),
          letter('two'),
          letter('three'),
        ]),
        edges: JSON.stringify(
          ['start one', 'one two', 'two three'].map((way) => ({
            id: way,
            source: way.split(' ')[0],
            target: way.split(' ')[1],
          })),
        ),
      },
      { triggerTopicId: reengagement.topic.id },
    );
    for (const { email } of people) await fixture.enter(letters, email);
    await fixture.run();
    for (const { email } of people) await mails(email, 3);
    await evaluated();
    for (const { email } of people) expect((await mails(email, 4))[3]).toBe('Are you still interested?');
    await looks(atOnce.email, 'opens');
    await later(7 * DAY);
    for (const { email } of [atLast, silent])
      expect((await mails(email, 5))[4]).toBe('The last mail from us');
    await looks(atLast.email, 'clicks');
    await later(7 * DAY);
    const begin = 'start, still_there, one_week, looked_at_first';
    expect(await path(reengagement, atOnce.email)).toBe(`CONVERTED: ${begin}`);
    expect(await path(reengagement, atLast.email)).toBe(
      `CONVERTED: ${begin}, last_call, another_week, looked_at_last`,
    );
    expect(await path(reengagement, silent.email)).toBe(
      `COMPLETED: ${begin}, last_call, another_week, looked_at_last, leave`,
    );
    const consent = async ({ id }: { readonly id: string }) =>
      (
        await fixture.messaging.test.query<{ status: string }>(
          'select status from audience.consents where subscriber_id = $1',
          [id],
        )
      ).map(({ status }) => status);
    expect([await consent(atOnce), await consent(atLast), await consent(silent)]).toEqual([
      ['SUBSCRIBED'],
      ['SUBSCRIBED'],
      ['UNSUBSCRIBED'],
    ]);
  });
});

describe('installing an automation', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
  });
  afterAll(() => fixture?.close());

  const install = (wish: { template: string; topicKey?: string; segmentKey?: string | null }) =>
    fixture.messaging
      .get(AutomationTemplatesService)
      .install(fixture.scope, { topicKey: fixture.topic.topicKey, segmentKey: null, ...wish });
  const refused = (errors: Record<string, string>) => expect.objectContaining({ errors });

  it.each(automationTemplateNames())(
    '%s leaves nothing to be done before it can be activated',
    async (name) => {
      const { id } = await install({ template: name });
      expect(await fixture.automations.activate(fixture.scope, id)).toMatchObject({ status: 'ACTIVE' });
    },
  );

  it('refuses what is not there, and makes nothing then', async () => {
    const count = async () =>
      (
        await fixture.messaging.test.query<{ n: number }>(
          `select (select count(*) from messaging.automations)::int + (select count(*) from audience.segments)::int as n`,
        )
      )[0]?.n;
    const before = await count();
    await expect(install({ template: 'wellcome' })).rejects.toEqual(
      refused({ template: `must be one of ${automationTemplateNames().join(', ')}` }),
    );
    await expect(install({ template: 'welcome', topicKey: 'APIT-99' })).rejects.toEqual(
      refused({ topicKey: 'is not a known topic' }),
    );
    await expect(install({ template: 'welcome', segmentKey: 'APIT-1' })).rejects.toEqual(
      refused({ segmentKey: 'is not for this template' }),
    );
    await expect(install({ template: 'win-back', segmentKey: 'APIT-99' })).rejects.toEqual(
      refused({ segmentKey: 'is not a known segment' }),
    );
    expect(await count()).toBe(before);
  });

  it('does not take a field of another type for the birthday', async () => {
    const other = await AutomationsFixture.open();
    try {
      await other.messaging
        .get(CustomFieldsService)
        .create(other.scope, { key: 'birthday', displayName: 'Birthday', type: 'TEXT' });
      const wish = { template: 'birthday', topicKey: other.topic.topicKey, segmentKey: null };
      await expect(
        other.messaging.get(AutomationTemplatesService).install(other.scope, wish),
      ).rejects.toEqual(refused({ template: 'needs the custom field birthday to be a DATE' }));
    } finally {
      await other.close();
    }
  });
});
