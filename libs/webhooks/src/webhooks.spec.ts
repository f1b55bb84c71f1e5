import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import pg from 'pg';
import { pino } from 'pino';
import { Webhook } from 'standardwebhooks';
import { newId, NotFoundError, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import {
  type PublishedEvent,
  Database,
  PostgresNotifications,
  OutgoingHttp,
  rowsOf,
  SecretBox,
} from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { letTimeGo, stopTime, waitingTimers } from '#testing/time/time-limits';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import { createProject } from '#testing/fixtures/fixtures';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';
import { Endpoint, type EventPattern } from './endpoint.js';
import { EventLogQuery, type LoggedEvent } from './event-log.query.js';
import { WebhookDeliveryRepository } from './webhook-delivery.repository.js';
import { WebhookEndpointsService } from './webhook-endpoints.service.js';
import { WebhookLogService } from './webhook-log.service.js';
import { WebhookPublisherService } from './webhook-publisher.service.js';
import { WebhookSender } from './webhook-sender.job.js';
import { webhookEntities } from './webhook-tables.js';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
const logger = pino({ level: 'silent' });

describe('webhooks', () => {
  let clock: ManualClock;
  let test: TestDatabase;
  let database: Database;
  let scope: ProjectScope;
  let other: ProjectScope;
  let receiver: WebhookReceiver;
  let http: OutgoingHttp;
  let endpoints: WebhookEndpointsService;
  let publisher: WebhookPublisherService;
  let sender: WebhookSender;
  let log: WebhookLogService;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({
      url: test.url,
      poolSize: 5,
      applicationName: 'test',
      entities: webhookEntities,
      clock: { now: () => clock.now() },
    });
  });

  beforeEach(async () => {
    clock = new ManualClock(new Date());
    const project = await createProject(test);
    scope = project.live;
    other = project.test;
    receiver = await WebhookReceiver.open();
    http = new OutgoingHttp({ addressesOf: () => Promise.resolve([]) });
    endpoints = endpointsWith('m');
    log = new WebhookLogService(database, clock);
    const deliveries = new WebhookDeliveryRepository(database);
    const notifications = new PostgresNotifications(test.url);
    publisher = new WebhookPublisherService(database, clock, notifications, logger);
    sender = new WebhookSender(deliveries, endpoints, http, notifications, clock, logger);
  });

  afterEach(async () => {
    receiver.close();
    await http.close();
    // A worker posts what is due in all projects.
    await test.query(
      'truncate webhooks.endpoints, webhooks.events, webhooks.deliveries, webhooks.attempts cascade',
    );
  });

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  function endpointsWith(masterKey: string, by = http): WebhookEndpointsService {
    const secrets = new SecretBox(masterKey.repeat(32));
    return new WebhookEndpointsService(database, secrets, by, clock);
  }

  async function listen(events: EventPattern[] = ['*']): Promise<{ id: string; secret: string }> {
    const made = await endpoints.create(scope, { url: receiver.url, description: null, events });
    await publisher.refresh();
    return made;
  }

  const listed = async () => (await endpoints.list(scope, { size: 20 })).items;
  const newestOf = async (id: string, size: number) => (await log.deliveries(scope, id, { size })).items;
  const opened = (count: number): PublishedEvent[] =>
    Array.from({ length: count }, (_, n) => ({ type: 'email.opened', data: { n } }));

  it('keep an endpoint as it was written', () =>
    database.transaction(scope, async () => {
      const now = clock.now();
      const wanted = { url: receiver.url, description: 'Shop', events: ['campaign.sent'] } as const;
      const endpoint = new Endpoint(newId(), scope, wanted, 'sealed', now);
      endpoint.rotateSecret('sealed anew', 24, now);
      endpoint.disable('It answered 410 Gone.', new Date(now.getTime() + 1));
      await database.em.persist(endpoint).flush();
      database.em.clear();
      const { id } = endpoint;
      expect(await database.em.findOneOrFail(Endpoint, { id })).toEqual(endpoint);
    }));

  it('are known to a running process as soon as they are created', async () => {
    const notifications = new PostgresNotifications(test.url);
    const running = new WebhookPublisherService(database, clock, notifications, logger);
    stopTime();
    try {
      await running.onModuleInit();
      await eventually('it waits for its next turn', () => waitingTimers().length > 0);
      await notifications.start();
      const { url } = receiver;
      await endpoints.create(scope, { url, description: null, events: ['campaign.*'] });
      await eventually('it knows', () => running.hasListeners(scope, 'campaign.sent'));
    } finally {
      letTimeGo();
      await running.onApplicationShutdown();
      await notifications.stop();
    }
  });

  it('tell an endpoint what happened, signed so that it can be checked', async () => {
    const { secret } = await listen();
    await publisher.publish(scope, { type: 'campaign.sent', data: { campaignKey: 'APIT-001' } });
    await sender.pass();
    const [post] = receiver.posts;
    const payload = new Webhook(secret).verify(post?.body ?? '', post?.headers as Record<string, string>);
    expect(payload).toEqual({
      type: 'campaign.sent',
      timestamp: expect.any(String),
      sequence: 1,
      data: { campaignKey: 'APIT-001' },
    });
    expect(receiver.posts).toHaveLength(1);
  });

  it('are never to go where no customer may reach, be it known by name or not', async () => {
    const inside = new OutgoingHttp({
      addressesOf: (host) => Promise.resolve(host === 'inside.example' ? ['10.0.0.7'] : []),
      allows: () => false,
    });
    const guarded = endpointsWith('m', inside);
    const { id } = await listen();
    for (const host of ['[::7f00:1]', '168.63.129.16', 'inside.example', 'nowhere.example']) {
      const url = `https://${host}/hook`;
      const refusal = {
        errors: {
          url: expect.stringMatching(
            /^must lead to a public address;.* the operator can allow: OUTGOING_PRIVATE_ADDRESSES$/,
          ),
        },
      };
      const made = guarded.create(scope, { url, description: null, events: ['*'] });
      await expect(made).rejects.toMatchObject({ members: refusal });
      await expect(guarded.change(scope, id, { url })).rejects.toMatchObject({ members: refusal });
    }
    expect(await listed()).toHaveLength(1);
    await inside.close();
  });

  it('tell only what an endpoint wants to hear, and nothing of another environment', async () => {
    await listen(['consent.granted']);
    await publisher.publish(
      scope,
      { type: 'campaign.sent', data: {} },
      { type: 'consent.granted', data: {} },
    );
    await publisher.publish(other, { type: 'consent.granted', data: {} });
    await sender.pass();
    expect(receiver.posts.map(({ body }) => (JSON.parse(body) as { type: string }).type)).toEqual([
      'consent.granted',
    ]);
  });

  it('are not told when the transaction in which they happened is rolled back', async () => {
    await listen();
    await expect(
      database.transaction(scope, async () => {
        await publisher.publish(scope, { type: 'campaign.sent', data: {} });
        throw new Error('no');
      }),
    ).rejects.toThrow('no');
    await sender.pass();
    expect(receiver.posts).toHaveLength(0);
  });

  it('reach a receiver that fails half of the time, every one at least once', async () => {
    await listen();
    receiver.answer = (_, count) => (count % 2 === 0 ? 204 : 500);
    await publisher.publish(scope, ...opened(50));
    for (let pass = 0; pass < 24; pass++) {
      await sender.pass();
      clock.advance(3 * HOUR);
    }
    const taken = receiver.posts.filter((_, index) => (index + 1) % 2 === 0);
    expect(new Set(taken.map(({ body }) => (JSON.parse(body) as { data: { n: number } }).data.n)).size).toBe(
      50,
    );
    const states = await test.query(`select distinct state from webhooks.deliveries`);
    expect(states).toEqual([{ state: 'DELIVERED' }]);
  });

  it('are tried ten times over three days, and then have failed', async () => {
    const { id } = await listen();
    receiver.answer = () => 503;
    await publisher.publish(scope, { type: 'campaign.failed', data: {} });
    const startedAt = clock.now().getTime();
    const triedAfter: number[] = [];
    const passed = async (milliseconds: number) => {
      clock.advance(milliseconds);
      const before = receiver.posts.length;
      await sender.pass();
      if (receiver.posts.length > before) triedAfter.push((clock.now().getTime() - startedAt) / HOUR);
    };
    await passed(0);
    for (let tries = 1; tries < 10; tries++) {
      const [{ nextAttemptAt } = { nextAttemptAt: null }] = await newestOf(id, 1);
      await passed((nextAttemptAt?.getTime() ?? 0) - clock.now().getTime() - 1);
      expect(triedAfter).toHaveLength(tries);
      await passed(1);
    }
    await passed(5 * DAY);
    expect(triedAfter).toHaveLength(10);
    expect(triedAfter.at(-1)).toBeGreaterThan(67);
    expect(triedAfter.at(-1)).toBeLessThan(84);
    expect(new Set(receiver.ids).size).toBe(1);
    const [row] = await newestOf(id, 10);
    expect(row).toMatchObject({ state: 'FAILED', attempts: 10, lastStatus: 503, nextAttemptAt: null });
  });

  it('end for an endpoint that answers 410', async () => {
    const { id } = await listen();
    receiver.answer = () => 410;
    await publisher.publish(scope, { type: 'campaign.sent', data: {} });
    await sender.pass();
    expect(await listed()).toMatchObject([
      { id, status: 'DISABLED', disabledReason: 'It answered 410 Gone.' },
    ]);
    await publisher.refresh();
    expect(publisher.hasListeners(scope, 'campaign.sent')).toBe(false);
  });

  it('are ended together with their endpoint, or neither of them is', async () => {
    const { id } = await listen();
    await publisher.publish(scope, { type: 'campaign.sent', data: {} });
    // As if the process had died in the middle.
    await test.query(`
      create function webhooks.lost() returns trigger language plpgsql as 'begin raise exception ''connection lost''; end';
      create trigger lost before update on webhooks.deliveries execute function webhooks.lost()
    `);
    try {
      for (const disable of [
        () => endpoints.change(scope, id, { status: 'DISABLED' }),
        () => endpoints.disable(scope, id, 'It answered 410 Gone.'),
      ])
        await expect(disable()).rejects.toThrow('connection lost');
      expect(await listed()).toMatchObject([{ id, status: 'ENABLED' }]);
    } finally {
      await test.query('drop function webhooks.lost cascade');
    }
    await endpoints.change(scope, id, { status: 'DISABLED' });
    expect(await listed()).toMatchObject([{ id, status: 'DISABLED' }]);
    expect(await newestOf(id, 1)).toMatchObject([
      { state: 'FAILED', lastError: 'The endpoint was disabled.' },
    ]);
  });

  it('are written down however strange the answer', async () => {
    const { id } = await listen();
    receiver.answer = () => 500;
    for (const [says, kept] of [
      ['a\u0000b', 'HTTP 500: ab'],
      [`${'x'.repeat(199)}\u{1F600}`, `HTTP 500: ${'x'.repeat(199)}\uFFFD`],
    ] as const) {
      receiver.says = says;
      await publisher.publish(scope, { type: 'campaign.sent', data: {} });
      await sender.pass();
      const [newest] = await newestOf(id, 1);
      expect(newest).toMatchObject({ attempts: 1, lastStatus: 500, lastError: kept });
    }
  });

  it('reach their endpoint though another one cannot be signed for', async () => {
    const { id } = await listen();
    const foreign = endpointsWith('n');
    const unreadable = await foreign.create(scope, { url: receiver.url, description: null, events: ['*'] });
    await publisher.publish(scope, { type: 'campaign.sent', data: {} });
    await sender.pass();
    expect(await newestOf(id, 1)).toMatchObject([{ state: 'DELIVERED' }]);
    expect(await newestOf(unreadable.id, 1)).toMatchObject([
      { state: 'PENDING', attempts: 1, lastError: expect.stringContaining('another MASTER_KEY') },
    ]);
  });

  it('do not wait for an endpoint that does not answer, however much it is to be told', async () => {
    const silent = createServer(() => undefined).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const url = `http://127.0.0.1:${(silent.address() as AddressInfo).port}/`;
    await endpoints.create(scope, { url, description: null, events: ['email.opened'] });
    await listen(['campaign.sent']);
    await publisher.publish(scope, ...opened(200));
    sender.start();
    for (let n = 1; n <= 2; n++) {
      await publisher.publish(scope, { type: 'campaign.sent', data: { n } });
      await eventually('the post of an event', () => receiver.posts.length === n);
    }
    const stopping = sender.stop();
    silent.closeAllConnections();
    await stopping;
    silent.close();
  });

  it('go first to the endpoint that has the fewest under way, however long others have waited', async () => {
    const { id: busy } = await listen(['email.opened']);
    for (let n = 0; n < 4; n++) await publisher.publish(scope, { type: 'email.opened', data: { n } });
    clock.advance(1_000);
    await listen(['campaign.sent']);
    for (let n = 0; n < 2; n++) await publisher.publish(scope, { type: 'campaign.sent', data: { n } });
    const deliveries = new WebhookDeliveryRepository(database);
    const typesOf = async (limit: number) => {
      const limits = { limit, limitOfOne: 16, busy: new Map([[busy, 1]]) };
      const claimed = await deliveries.claim(limits);
      return claimed.map(({ type }) => type).sort();
    };
    expect(await typesOf(1)).toEqual(['campaign.sent']);
    expect(await typesOf(2)).toEqual(['campaign.sent', 'email.opened']);
    expect(await typesOf(16)).toEqual(['email.opened', 'email.opened', 'email.opened']);
  });

  it('are found without a look at all that waits for another endpoint', async () => {
    const { id: down } = await listen(['email.opened']);
    for (let n = 0; n < 5; n++) await listen(['campaign.sent']);
    await publisher.publish(scope, { type: 'email.opened', data: {} });
    await test.query(
      `insert into webhooks.deliveries (id, environment_id, endpoint_id, event_id, next_attempt_at, created_at)
       select gen_random_uuid(), environment_id, $1, id, occurred_at, occurred_at
       from webhooks.events cross join generate_series(1, 5000)`,
      [down],
    );
    await test.query('analyze webhooks.deliveries');
    const read = await database.system(async () => {
      // The statistics hold what this connection read before as well.
      const readByNow = async () => {
        const { rows } = await sql<{ rows: number }>`
          select (seq_tup_read + idx_tup_fetch)::int as rows from pg_stat_xact_user_tables
          where relid = 'webhooks.deliveries'::regclass
        `.execute(database.tables());
        return rows[0]!.rows;
      };
      const before = await readByNow();
      const limits = { limit: 64, limitOfOne: 16 };
      const claimed = await new WebhookDeliveryRepository(database).claim(limits);
      expect(claimed).toHaveLength(16);
      return (await readByNow()) - before;
    });
    expect(read).toBeGreaterThan(0);
    expect(read).toBeLessThan(200);
  });

  it('of an endpoint that is disabled end, while another worker settles some of them in its order', async () => {
    const { id: endpoint } = await listen(['email.opened']);
    for (let n = 0; n < 2; n++) await publisher.publish(scope, { type: 'email.opened', data: { n } });
    const waiting = await test.query<{ id: string }>('select id from webhooks.deliveries order by id');
    await test.query('update webhooks.deliveries set next_attempt_at = $1 where id = $2', [
      new Date(clock.now().getTime() - 60_000),
      waiting[1]?.id,
    ]);
    const settling = new pg.Client({ connectionString: test.adminUrl });
    await settling.connect();
    const lock = (place: number) =>
      settling.query('select 1 from webhooks.deliveries where id = $1 for update', [waiting[place]?.id]);
    await settling.query('begin');
    await lock(0);
    const disabled = endpoints.disable(scope, endpoint, 'It answered 410 Gone.');
    await eventually('it waits', () => isWaitingForLock(test));
    await lock(1);
    await settling.query('commit');
    await settling.end();
    await disabled;
    expect(await test.query('select distinct state from webhooks.deliveries')).toEqual([{ state: 'FAILED' }]);
  });

  it('are tried again when the worker died while it posted them', async () => {
    await listen();
    await publisher.publish(scope, { type: 'campaign.sent', data: {} });
    await new WebhookDeliveryRepository(database).claim({ limit: 10, limitOfOne: 10 });
    await sender.pass();
    expect(receiver.posts).toHaveLength(0);
    clock.advance(31_000);
    await sender.pass();
    expect(receiver.posts).toHaveLength(1);
  });

  it('are signed with the old and the new secret while a secret is changed over', async () => {
    const { id, secret: older } = await listen();
    const { secret: newer } = await endpoints.rotateSecret(scope, id, 24);
    const signedWith = async (): Promise<boolean[]> => {
      await publisher.publish(scope, { type: 'campaign.sent', data: {} });
      await sender.pass();
      const { body = '', headers = {} } = receiver.posts.at(-1) ?? {};
      const at = new Date(Number(headers['webhook-timestamp']) * 1_000);
      const signatures = String(headers['webhook-signature']).split(' ');
      return [older, newer].map((secret) =>
        signatures.includes(new Webhook(secret).sign(String(headers['webhook-id']), at, body)),
      );
    };
    expect(await signedWith()).toEqual([true, true]);
    clock.advance(25 * HOUR);
    expect(await signedWith()).toEqual([false, true]);
  });

  it('are written and claimed by the statements of test/statements', async () => {
    await listen();
    const texts = await textsCompiledBy(async () => {
      await publisher.publish(scope, ...opened(1));
      await new WebhookDeliveryRepository(database).claim({ limit: 1, limitOfOne: 1 });
    });
    for (const name of ['publish_events', 'due_webhooks', 'claim_webhooks']) {
      const { now, committed } = await statementText(name, texts);
      expect(now).toBe(committed);
    }
  });

  it('keep their secrets through a change of the master key', async () => {
    const { id, secret } = await listen();
    const { secret: newer } = await endpoints.rotateSecret(scope, id, 24);
    const box = new SecretBox('n'.repeat(32), 'm'.repeat(32));
    const sealing = new WebhookEndpointsService(database, box, http, clock);
    expect([await sealing.resealSecrets(10), await sealing.resealSecrets(10)]).toEqual([1, 0]);
    const afterwards = endpointsWith('n');
    const [row] = await test.query(
      'select secret, previous_secret as "previousSecret", environment_id::int as "environmentId", project_id::int as "projectId" from webhooks.endpoints',
    );
    expect(afterwards.secretsOf(row as Parameters<typeof afterwards.secretsOf>[0])).toEqual([newer, secret]);
  });

  it('can be told again: one, or all that were never accepted since a moment, and twice is once', async () => {
    const { id } = await listen();
    const since = clock.now();
    receiver.answer = (_, count) => (count === 1 ? 204 : 410);
    for (let n = 0; n < 3; n++) {
      await publisher.publish(scope, { type: 'campaign.sent', data: { n } });
      clock.advance(1_000);
    }
    const failed = { since, state: 'FAILED' } as const;
    await sender.pass();
    await expect(log.replay(scope, id, failed)).rejects.toMatchObject({ currentState: 'DISABLED' });
    await endpoints.change(scope, id, { status: 'ENABLED' });
    receiver.answer = () => 410;
    for (const replayed of [2, 0]) expect(await log.replay(scope, id, failed)).toMatchObject({ replayed });
    await sender.pass();
    await endpoints.change(scope, id, { status: 'ENABLED' });
    receiver.answer = () => 204;
    // Each of the two events failed twice.
    const raced = await Promise.all([1, 2, 3].map(() => log.replay(scope, id, failed)));
    expect(raced.map(({ replayed }) => replayed).toSorted((a, b) => a - b)).toEqual([0, 0, 2]);
    await sender.pass();
    expect(await log.replay(scope, id, failed)).toEqual({ replayed: 0, hasMore: false });
    const [one] = await newestOf(id, 1);
    const again = await log.replayOne(scope, one!.id, id);
    expect(again).toMatchObject({ eventId: one!.eventId, state: 'PENDING', attempts: 0 });
    expect(await log.replayOne(scope, one!.id)).toEqual(again);
    await sender.pass();
    expect(receiver.ids.filter((eventId) => eventId === one?.eventId)).toHaveLength(4);
    expect(await log.replay(scope, id, { since, state: 'ALL' })).toMatchObject({ replayed: 3 });
    for (const refused of [
      () => log.replay(other, id, failed),
      () => log.replayOne(other, one!.id),
      () => log.replayOne(scope, one!.id, newId()),
      () => log.deliveries(other, id, { size: 1 }),
    ])
      await expect(refused()).rejects.toThrow(NotFoundError);
  });

  it('that wait for their next attempt are tried at once when they are told again, but not while they are posted', async () => {
    const { id } = await listen();
    receiver.answer = () => 503;
    await publisher.publish(scope, { type: 'campaign.sent', data: {} });
    for (const wait of [0, 5_500, 330_000]) {
      clock.advance(wait);
      await sender.pass();
    }
    const [waiting] = await newestOf(id, 1);
    expect(waiting!.nextAttemptAt!.getTime()).toBeGreaterThan(clock.now().getTime() + 20 * 60_000);
    expect(await log.replayOne(scope, waiting!.id)).toMatchObject({
      id: waiting!.id,
      attempts: 3,
      nextAttemptAt: clock.now(),
    });
    const deliveries = new WebhookDeliveryRepository(database);
    const [claimed] = await deliveries.claim({ limit: 1, limitOfOne: 1 });
    expect(claimed).toMatchObject({ id: waiting!.id, attempt: 4 });
    await log.replayOne(scope, waiting!.id);
    expect(await deliveries.claim({ limit: 1, limitOfOne: 1 })).toEqual([]);
  });

  it('come to who listens to all of an area, also by a type that is not named', async () => {
    await listen(['email.*', 'campaign.sent']);
    expect(publisher.hasListeners(scope, 'email.clicked')).toBe(true);
    expect(publisher.hasListeners(scope, 'message.sent')).toBe(false);
    const types = [
      'email.opened',
      'message.sent',
      'campaign.sent',
      'email.failed',
      'campaign.failed',
    ] as const;
    await publisher.publish(scope, ...types.map((type) => ({ type, data: {} })));
    await sender.pass();
    expect(receiver.events.map(({ type }) => type).toSorted()).toEqual([
      'campaign.sent',
      'email.failed',
      'email.opened',
    ]);
  });

  it('are numbered as they are committed: who reads on from the last number misses none, of however many writers', async () => {
    await listen(['email.opened']);
    const events = new EventLogQuery(database);
    const seen: LoggedEvent[] = [];
    const readOn = async () => {
      const after = seen.at(-1)?.sequence ?? 0;
      const { items, hasNext } = await events.list(scope, { size: 7, after });
      seen.push(...items);
      return hasNext;
    };
    // Begun before another, and committed after that was read.
    const read = Promise.withResolvers<void>();
    const isWritten = Promise.withResolvers<void>();
    const slow = database.transaction(scope, async () => {
      await publisher.publish(scope, ...opened(2));
      isWritten.resolve();
      await read.promise;
    });
    await isWritten.promise;
    await publisher.publish(scope, ...opened(3));
    await readOn();
    expect(seen.map(({ sequence }) => sequence)).toEqual([1, 2, 3]);
    read.resolve();
    await slow;
    const writers = { areDone: false };
    const writer = async () => {
      for (let n = 1; n <= 30; n += 1)
        await database
          .transaction(scope, async () => {
            await publisher.publish(scope, ...opened(1 + (n % 4)));
            if (n % 5 === 0) throw new Error('undone');
          })
          .catch(() => undefined);
    };
    const writing = Promise.all([writer(), writer(), sender.pass()]).finally(() => {
      writers.areDone = true;
    });
    while ((await readOn()) || !writers.areDone);
    await writing;
    while (await readOn());
    const ids = await test.query<{ id: string }>('select id from webhooks.events order by sequence');
    expect(seen.map(({ id }) => id)).toEqual(ids.map(({ id }) => id));
    expect(seen.map(({ sequence }) => sequence)).toEqual(seen.map((_, index) => index + 1));
    expect(await events.list(scope, { size: 5 })).toMatchObject({
      totalElements: seen.length,
      items: seen.slice(-5).toReversed(),
    });
    expect((await events.list(scope, { size: 5, type: 'campaign.sent' })).totalElements).toBe(0);
    expect((await events.list(other, { size: 5, after: 0 })).items).toEqual([]);
  });

  it('forget a person who is erased, and everything after 30 days', async () => {
    await listen();
    const subscriberId = '01890000-0000-7000-8000-000000000001';
    const person = { subscriberId, messageIds: ['m1'] };
    const data = { email: 'ada@example.com' };
    const message = { messageId: 'm1', to: 'ada@example.com' };
    await publisher.publish(scope, { type: 'subscriber.created', subscriberId, data });
    await publisher.publish(scope, { type: 'message.sent', data: message });
    const ofBob = { messageId: 'm2', to: 'bob@example.com' };
    await publisher.publish(scope, { type: 'message.sent', data: ofBob });
    const about = await rowsOf(log.eventsAbout(scope, person));
    expect(about.map((event) => event['data'])).toEqual([data, message]);
    await log.erase(scope, person);
    await sender.pass();
    const told = receiver.events.map((event) => event.data);
    expect(told).toHaveLength(3);
    expect(told).toEqual(expect.arrayContaining([{ subscriberId }, { messageId: 'm1' }, ofBob]));
    clock.advance(31 * DAY);
    await log.trim();
    expect(await test.query(`select * from webhooks.events, webhooks.deliveries`)).toEqual([]);
  });

  it('refuse URLs that cannot be called, and endpoints of another environment', async () => {
    const refused = endpoints.create(scope, { url: 'ftp://example.com', description: null, events: ['*'] });
    await expect(refused).rejects.toMatchObject({ errors: { url: 'must be an http or https URL' } });
    const { id } = await listen();
    await expect(endpoints.remove(other, id)).rejects.toThrow(NotFoundError);
    await expect(endpoints.change(other, id, { status: 'DISABLED' })).rejects.toThrow(NotFoundError);
    await endpoints.remove(scope, id);
    expect(await listed()).toEqual([]);
  });
});
