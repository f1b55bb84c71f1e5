import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { eventually } from '#testing/time/eventually';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { address, AudienceFixture, HOUR } from './audience.fixture.js';
import { SubscriberEventsService } from './subscribers/subscriber-events.service.js';
import { WaitsService } from './waits.service.js';

const ADA = 'ada@example.com';
const BOB = 'bob@example.com';

describe('people who wait for an event', () => {
  let audience: AudienceFixture;
  let scope: ProjectScope;
  let waits: WaitsService;
  let events: SubscriberEventsService;
  const ids = new Map<string, string>();

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    scope = await audience.scope();
    waits = audience.get(WaitsService);
    events = audience.get(SubscriberEventsService);
    const topic = await audience.topic(scope);
    for (const email of [ADA, BOB]) ids.set(email, (await audience.subscribe(scope, email, topic)).id);
  });
  afterAll(() => audience?.close());

  const inTransaction = <T>(work: () => Promise<T>) => audience.database.transaction(scope, work);
  const open = async (name = 'order') => {
    const waitId = newId();
    await inTransaction(() => waits.open(scope, waitId, { event: { name, where: [] } }));
    return waitId;
  };
  const waiter = (email: string) => ({ id: newId(), subscriberId: ids.get(email) ?? '' });
  const begin = (waitId: string, ...waiters: readonly ReturnType<typeof waiter>[]) =>
    inTransaction(() =>
      waits.begin(
        scope,
        waitId,
        waiters.map((one) => ({ ...one, since: null })),
      ),
    );
  const report = (email: string, name = 'order') => events.record(scope, address(email), { name });
  const fulfilled = async (waitId: string) =>
    (
      await audience.test.query<{ id: string }>(
        'select waiter_id as id from audience.fulfilled_waiters where wait_id = $1 order by id',
        [waitId],
      )
    ).map(({ id }) => id);

  it('find it each, whatever others wait for or do', async () => {
    const [order, visit] = [await open(), await open('visit')];
    const [ada, again, bob, visitor] = [waiter(ADA), waiter(ADA), waiter(BOB), waiter(ADA)];
    await begin(order, ada, again, bob);
    await begin(visit, visitor);
    await report(ADA);
    expect(new Set(await fulfilled(order))).toEqual(new Set([ada.id, again.id]));
    expect(await fulfilled(visit)).toEqual([]);
    expect(await inTransaction(() => waits.end(scope, order, [ada, bob]))).toEqual(new Set([ada.id]));
    await report(BOB);
    expect(await fulfilled(order)).toHaveLength(2);
  });

  it('find one that is recorded while they begin, since it waits until they have begun', async () => {
    const waitId = await open();
    const ada = waiter(ADA);
    const proceed = Promise.withResolvers<void>();
    const beginning = inTransaction(async () => {
      await waits.begin(scope, waitId, [{ ...ada, since: null }]);
      await proceed.promise;
    });
    await eventually('it has begun', async () => {
      const rows = await audience.test.query(
        `select 1 from pg_locks where mode = 'RowShareLock' and relation = 'audience.subscribers'::regclass`,
      );
      return rows.length > 0;
    });
    const reported = report(ADA);
    await eventually('the event waits', () => isWaitingForLock(audience.test));
    expect(await fulfilled(waitId)).toEqual([]);
    proceed.resolve();
    await Promise.all([beginning, reported]);
    expect(await fulfilled(waitId)).toEqual([ada.id]);
  });

  it('begin behind one that is being recorded, which then was before', async () => {
    const waitId = await open();
    const ada = waiter(ADA);
    const proceed = Promise.withResolvers<void>();
    const recorded = Promise.withResolvers<void>();
    const reporting = inTransaction(async () => {
      await report(ADA);
      recorded.resolve();
      await proceed.promise;
    });
    await recorded.promise;
    const beginning = begin(waitId, ada);
    await eventually('the beginning waits', () => isWaitingForLock(audience.test));
    proceed.resolve();
    await Promise.all([reporting, beginning]);
    expect(await fulfilled(waitId)).toEqual([]);
    await report(ADA);
    expect(await fulfilled(waitId)).toEqual([ada.id]);
  });

  it('do not count what is reported of a time before', async () => {
    const waitId = await open();
    const ada = waiter(ADA);
    await begin(waitId, ada);
    const occurredAt = new Date(audience.clock.now().getTime() - HOUR);
    await events.record(scope, address(ADA), { name: 'order', occurredAt });
    await events.recordAll(scope, [{ address: address(ADA), name: 'order', occurredAt }]);
    expect(await fulfilled(waitId)).toEqual([]);
  });

  it('are forgotten in chunks, and then what they waited for', async () => {
    const waitId = await open();
    await begin(waitId, waiter(ADA), waiter(BOB));
    const close = () => inTransaction(() => waits.close(scope, [waitId]));
    expect([await close(), await close()]).toEqual([true, false]);
    await report(ADA);
    expect(await fulfilled(waitId)).toEqual([]);
    const known = await audience.test.query('select 1 from audience.waits where id = $1', [waitId]);
    expect(known).toEqual([]);
  });

  it.each(['begin_waiting', 'end_waiting', 'fulfil_rules'])('take one statement (%s)', async (name) => {
    const waitId = newId();
    const rules = JSON.stringify({ version: 1, where: { field: 'firstName', op: 'eq', value: 'Ada' } });
    const texts = await textsCompiledBy(async () => {
      await inTransaction(() => waits.open(scope, waitId, { rules }));
      const ada = waiter(ADA);
      await begin(waitId, ada);
      await waits.evaluate(scope, { waitId });
      await inTransaction(() => waits.end(scope, waitId, [ada]));
    });
    const { now, committed } = await statementText(name, texts);
    expect(now).toBe(committed);
  });
});
