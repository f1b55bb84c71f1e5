import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Database } from '#platform';
import PostalMime from 'postal-mime';
import { eventually } from '#testing/time/eventually';
import { MailViewService } from '../../sending/mails/mail-view.service.js';
import { automationDiscrepancies } from '../../reports/statistics/automation-check.query.js';
import { statisticsDiscrepancies } from '../../reports/statistics/statistics-check.query.js';
import { MailboxSimulatorService } from '../../sending/mailbox-simulator.service.js';
import { TrackingService } from '../../engagement/tracking.service.js';
import { AutomationsFixture, chain, delay, mail, rules, trigger, ways } from '../automations.fixture.js';

const HOUR = 3_600_000;
const OFFER = 'https://acme.example/offer?a=1&b=2';
const contentJson = JSON.stringify({
  blocks: [
    { type: 'button', label: 'Offer', url: OFFER },
    { type: 'button', label: 'News', url: 'https://acme.example/news' },
    { type: 'button', label: 'Shop', url: 'https://acme.example/shop' },
  ],
});
const READER = { method: 'GET', userAgent: 'Mozilla/5.0 (iPhone; CPU iPhone OS 18_0 like Mac OS X)' };
const happened = (event: object) => rules({ event, count: { op: 'gte', value: 1 } });

describe('mails of automations', () => {
  let fixture: AutomationsFixture;
  beforeAll(async () => {
    fixture = await AutomationsFixture.open();
    fixture.messaging.engine.start();
  });
  afterAll(() => fixture?.close());

  const get: AutomationsFixture['messaging']['get'] = (type) => fixture.messaging.get(type);

  async function sent(subscriberId: string) {
    return eventually('the mail is sent', async () => {
      const [row] = await fixture.messaging.test.query<{ id: string; raw: Buffer }>(
        `select d.id, m.raw from messaging.deliveries d join messaging.test_inbox_messages m on m.delivery_id = d.id
         where d.subscriber_id = $1 and d.state = 'SENT' order by d.created_at desc limit 1`,
        [subscriberId],
      );
      return row ?? null;
    });
  }

  /** The tokens of a mail: the pixel's, and those of its links in their order. */
  async function tokensOf(raw: Buffer) {
    const { html = '' } = await PostalMime.parse(raw);
    const found = (path: string) =>
      [...html.matchAll(new RegExp(`/${path}/([\\w-]+)`, 'g'))].map(([, token]) => token ?? '');
    return { pixel: found('o')[0] ?? '', links: found('l') };
  }

  const events = (subscriberId: string) =>
    fixture.messaging.test.query<{ type: string; campaign_id: string | null; url: string | null }>(
      `select type, classification, campaign_id, url from messaging.delivery_events
       where subscriber_id = $1 order by occurred_at, type desc`,
      [subscriberId],
    );

  const statisticsAreRight = async () => {
    expect(await statisticsDiscrepancies(get(Database))).toEqual([]);
    expect(await automationDiscrepancies(get(Database))).toEqual([]);
  };

  const asking = (event: object) => ({
    nodes: JSON.stringify([
      trigger(),
      mail('offer', { contentJson }),
      delay('wait', 'PT1H'),
      { id: 'asked', type: 'condition', config: { rules: happened(event) } },
      mail('thanks'),
      delay('end', 'P1D'),
    ]),
    edges: ways('start > offer', 'offer > wait', 'wait > asked', 'asked > thanks: yes', 'asked > end: no'),
  });

  it('lead their links past us, and a click decides how its reader goes on', async () => {
    const id = await fixture.active(asking({ type: 'CLICKED', url: OFFER }));
    const [ada, bob] = [await fixture.person(), await fixture.person()];
    for (const { email } of [ada, bob]) await fixture.enter(id, email);
    await fixture.run();
    const mails = [await sent(ada.id), await sent(bob.id)] as const;
    fixture.messaging.clock.advance(60_000);
    const links = get(TrackingService);
    const [adas, bobs] = [await tokensOf(mails[0].raw), await tokensOf(mails[1].raw)];
    expect(await links.follow(adas.links[0] ?? '', READER)).toBe(OFFER);
    expect(links.open(bobs.pixel, READER)).toBe(true);
    await get(TrackingService).flush();
    const kept = { classification: 'human', campaign_id: null };
    expect(await events(ada.id)).toEqual([{ type: 'CLICKED', ...kept, url: OFFER }]);
    expect(await events(bob.id)).toEqual([{ type: 'OPENED', ...kept, url: null }]);

    await fixture.later(HOUR);
    expect(await fixture.paths(id, ada.email)).toEqual(['COMPLETED: start, offer, wait, asked, thanks']);
    expect(await fixture.paths(id, bob.email)).toEqual(['ACTIVE: start, offer, wait, asked, end WAITING']);
    await statisticsAreRight();
  });

  it('are judged as campaigns are: who follows three links at once is a scanner', async () => {
    const id = await fixture.active(asking({ type: 'OPENED' }));
    const { id: readerId, email } = await fixture.person();
    await fixture.enter(id, email);
    await fixture.run();
    const { links } = await tokensOf((await sent(readerId)).raw);
    fixture.messaging.clock.advance(60_000);
    await get(TrackingService).follow(links[0] ?? '', READER);
    await get(TrackingService).flush();
    for (const token of links.slice(1)) await get(TrackingService).follow(token, READER);
    await get(TrackingService).flush();
    const classes = (await events(readerId)).map((event) => ({ ...event, url: null }));
    expect(classes).toEqual(
      Array.from({ length: 3 }, () => ({
        type: 'CLICKED',
        classification: 'scanner',
        campaign_id: null,
        url: null,
      })),
    );
    await fixture.later(HOUR);
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, offer, wait, asked, end WAITING']);
    await statisticsAreRight();
  });

  it('show the same in a browser as in the mailbox, pixel and links included', async () => {
    const id = await fixture.active(chain(trigger(), mail('offer', { contentJson })));
    const reader = await fixture.person();
    await fixture.enter(id, reader.email);
    await fixture.run();
    const { id: deliveryId, raw } = await sent(reader.id);
    const page = await get(MailViewService).ofDelivery(fixture.scope, deliveryId, null);
    const { pixel, links } = await tokensOf(raw);
    expect(links).toHaveLength(3);
    for (const token of [pixel, ...links]) expect(page?.html).toContain(token);
  });

  it('have a link set for each version, whose mails that went out before keep theirs', async () => {
    const id = await fixture.active(chain(trigger({ reEntry: 'ALWAYS' }), mail('offer', { contentJson })));
    const reader = await fixture.person();
    await fixture.enter(id, reader.email);
    await fixture.run();
    const first = await tokensOf((await sent(reader.id)).raw);
    await fixture.automations.pause(fixture.scope, id);
    const other = JSON.stringify({
      blocks: [{ type: 'button', label: 'Other', url: 'https://acme.example/2' }],
    });
    await fixture.automations.replaceContent(
      fixture.scope,
      id,
      chain(trigger({ reEntry: 'ALWAYS' }), mail('offer', { contentJson: other })),
    );
    await fixture.automations.activate(fixture.scope, id);
    fixture.messaging.clock.advance(HOUR);
    await fixture.enter(id, reader.email);
    await fixture.run();
    const second = await eventually('the second mail is sent', async () => {
      const tokens = await tokensOf((await sent(reader.id)).raw);
      return tokens.pixel === first.pixel ? null : tokens;
    });
    expect(await get(TrackingService).follow(second.links[0] ?? '', READER)).toBe('https://acme.example/2');
    expect(await get(TrackingService).follow(first.links[0] ?? '', READER)).toBe(OFFER);
  });

  it('are answered by simulated mailboxes as campaigns’ mails are', async () => {
    const id = await fixture.active(chain(trigger(), mail('offer', { contentJson })));
    const people = new Map<string, string>();
    for (const behaviour of ['opened', 'clicked', 'bounced', 'complained', 'unsubscribed', 'delivered']) {
      const { id: personId, email } = await fixture.person({ email: `${behaviour}+7@example.com` });
      people.set(behaviour, personId);
      await fixture.enter(id, email);
    }
    await fixture.run();
    for (const personId of people.values()) await sent(personId);
    await get(MailboxSimulatorService).pass();
    const did = async (behaviour: string) =>
      (await events(people.get(behaviour) ?? '')).map(({ type, url }) => ({ type, url }));
    expect(await did('opened')).toEqual([{ type: 'OPENED', url: null }]);
    expect(await did('clicked')).toEqual([{ type: 'CLICKED', url: OFFER }]);
    expect(await did('bounced')).toEqual([{ type: 'BOUNCED', url: null }]);
    expect(await did('complained')).toEqual([{ type: 'COMPLAINED', url: null }]);
    expect(await did('unsubscribed')).toEqual([{ type: 'UNSUBSCRIBED', url: null }]);
    expect(await did('delivered')).toEqual([]);
    await statisticsAreRight();
  });

  it('are opened by a mailbox that clicks, where no link of theirs is tracked', async () => {
    const plain = JSON.stringify({
      blocks: [{ type: 'text', html: '<p>See https://acme.example/news</p>' }],
    });
    const id = await fixture.active(chain(trigger(), mail('offer', { contentJson: plain })));
    const reader = await fixture.person({ email: 'clicked+plain@example.com' });
    await fixture.enter(id, reader.email);
    await fixture.run();
    await sent(reader.id);
    await get(MailboxSimulatorService).pass();
    expect(await events(reader.id)).toMatchObject([{ type: 'OPENED', url: null }]);
    await statisticsAreRight();
  });
});

describe('mails of automations where tracking is off', () => {
  it('go out as their author wrote them', async () => {
    const fixture = await AutomationsFixture.open({ TRACKING: 'false' });
    try {
      fixture.messaging.engine.start();
      const id = await fixture.active(chain(trigger(), mail('offer', { contentJson })));
      const { email } = await fixture.person();
      await fixture.enter(id, email);
      await fixture.run();
      const raw = await eventually('the mail is sent', async () => {
        const [row] = await fixture.messaging.test.query<{ raw: Buffer }>(
          'select raw from messaging.test_inbox_messages',
        );
        return row?.raw ?? null;
      });
      const { html = '' } = await PostalMime.parse(raw);
      expect(html).toContain('https://acme.example/news');
      expect(html).not.toMatch(/\/[ol]\/[\w-]{56}/);
    } finally {
      await fixture.close();
    }
  });
});
