import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { newId, type ProjectScope } from '#kernel';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { PersonalDataService } from '../personal-data.service.js';
import { TriggersService } from '../triggers.service.js';
import { SubscriberEventsService } from './subscriber-events.service.js';

const ADA = address('ada@example.com');
const BOB = address('bob@example.com');
const DAY = 24 * 60 * 60_000;

describe('reported events', () => {
  let audience: AudienceFixture;
  let events: SubscriberEventsService;
  let scope: ProjectScope;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    events = audience.get(SubscriberEventsService);
  });
  afterAll(() => audience?.close());
  beforeEach(async () => {
    scope = await audience.scope();
    const topic = await audience.topic(scope);
    for (const { value } of [ADA, BOB]) await audience.subscribe(scope, value, topic);
  });

  const ids = () =>
    audience.test.query<{ unique_id: string }>(
      'select unique_id from audience.event_unique_ids where environment_id = $1 order by 1',
      [scope.environmentId],
    );

  it('count once where the same batch comes from several clients at once', async () => {
    const batch = Array.from({ length: 50 }, (_, n) => ({
      address: n % 2 === 0 ? ADA : BOB,
      name: 'order',
      uniqueId: `order-${n}`,
    }));
    const turned = batch.toReversed();
    const outcomes = await Promise.all(
      [batch, turned, batch, turned].map((each) => events.recordAll(scope, each)),
    );
    expect(outcomes.reduce((sum, { accepted }) => sum + accepted, 0)).toBe(50);
    expect(outcomes.reduce((sum, { repeated }) => sum + repeated, 0)).toBe(150);
    const rows = await audience.test.query(
      'select 1 from audience.subscriber_events where environment_id = $1',
      [scope.environmentId],
    );
    expect(rows).toHaveLength(50);
  });

  it('count once where their request is run again after its process died', async () => {
    const asked = (text: string) => ({ digest: Buffer.alloc(32, text), isTakenOver: false });
    const again = { ...asked('first'), isTakenOver: true };
    const batch = [
      { address: ADA, name: 'order' },
      { address: ADA, name: 'order' },
      { address: BOB, name: 'order', uniqueId: 'of Bob' },
    ];
    expect(await events.recordAll(scope, batch, asked('first'))).toMatchObject({ accepted: 3, repeated: 0 });
    expect(await events.recordAll(scope, batch, again)).toMatchObject({ accepted: 0, repeated: 3 });
    expect(await events.recordAll(scope, batch, asked('second'))).toMatchObject({ accepted: 2, repeated: 1 });
    const order = { name: 'order' };
    const id = await events.record(scope, ADA, order, asked('third'));
    expect(await events.record(scope, ADA, order, { ...asked('third'), isTakenOver: true })).toBe(id);
    expect(await events.record(scope, ADA, order)).not.toBe(id);
    const shown = await audience.test.query<{ n: number }>(
      'select count(*)::int as n from audience.subscriber_events where environment_id = $1 and unique_id is not null',
      [scope.environmentId],
    );
    expect(shown).toEqual([{ n: 1 }]);
  });

  it('trigger an automation once each', async () => {
    await audience.database.transaction(scope, () =>
      audience.get(TriggersService).watch(scope, newId(), {
        kind: 'CUSTOM_EVENT',
        subject: 'order',
      }),
    );
    const order = (total: number) => ({
      address: ADA,
      name: 'order',
      uniqueId: `${total}`,
      properties: { total },
    });
    await events.recordAll(scope, [order(1), order(2), order(1), { address: BOB, name: 'other' }]);
    await events.recordAll(scope, [order(2), order(3)]);
    const recorded = await audience.test.query<{ data: object }>(
      'select data from audience.recorded_triggers where environment_id = $1 order by id',
      [scope.environmentId],
    );
    expect(recorded.map(({ data }) => data)).toEqual([{ total: 1 }, { total: 2 }, { total: 3 }]);
  });

  it('trigger by their properties where an automation asks for that', async () => {
    const where = [
      { path: ['total'], op: 'gte', value: 50 },
      { path: ['items', 'sku'], op: 'eq', value: 'A1' },
    ] as const;
    await audience.database.transaction(scope, () =>
      audience.get(TriggersService).watch(scope, newId(), { kind: 'CUSTOM_EVENT', subject: 'order', where }),
    );
    const order = (total: unknown, ...skus: string[]) => ({
      address: ADA,
      name: 'order',
      properties: { total, items: skus.map((sku) => ({ sku })) },
    });
    await events.recordAll(scope, [
      order(50, 'B2', 'A1'),
      order(49, 'A1'),
      order(99, 'B2'),
      order('99', 'A1'),
      { address: ADA, name: 'order' },
      { address: ADA, name: 'other', properties: { total: 99, items: [{ sku: 'A1' }] } },
    ]);
    const recorded = await audience.test.query<{ data: object }>(
      'select data from audience.recorded_triggers where environment_id = $1',
      [scope.environmentId],
    );
    expect(recorded.map(({ data }) => data)).toEqual([order(50, 'B2', 'A1').properties]);
  });

  it('of who is erased leave no id behind', async () => {
    await events.recordAll(scope, [
      { address: ADA, name: 'order', uniqueId: 'of Ada' },
      { address: BOB, name: 'order', uniqueId: 'of Bob' },
    ]);
    await audience.get(PersonalDataService).erase(scope, ADA, PROOF);
    expect(await ids()).toEqual([{ unique_id: 'of Bob' }]);
  });

  it('have ids that go after 30 days', async () => {
    await events.record(scope, ADA, { name: 'order', uniqueId: 'early' });
    audience.clock.advance(1);
    await events.record(scope, ADA, { name: 'order', uniqueId: 'late' });
    audience.clock.advance(30 * DAY - 1);
    await events.removeOldIds();
    expect(await ids()).toEqual([{ unique_id: 'late' }]);
  });

  it('are one statement, whole in test/statements', async () => {
    const texts = await textsCompiledBy(() => events.recordAll(scope, [{ address: ADA, name: 'order' }]));
    const { now, committed } = await statementText('record_events', texts);
    expect(now).toBe(committed);
  });
});
