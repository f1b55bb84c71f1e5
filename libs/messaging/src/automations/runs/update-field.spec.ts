import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type CustomFieldType, CustomFieldsService, SubscribersQuery, SubscribersService } from '#audience';
import type { ProjectScope } from '#kernel';
import { type PublishedEvent, Publisher } from '#platform';
import { statementText, textsCompiledBy } from '#testing/postgres/statement-text';
import { address, AutomationsFixture, chain, delay, trigger, ways, where } from '../automations.fixture.js';

const published: PublishedEvent[] = [];

/** Somebody listens to all events. */
class ListeningPublisher extends Publisher {
  override hasListeners(): boolean {
    return true;
  }

  override async publish(_scope: ProjectScope, ...events: readonly PublishedEvent[]): Promise<void> {
    published.push(...events);
  }

  override async publishRows(): Promise<void> {}

  override async publishOnce(): Promise<void> {}
}

const update = (key: string, value: unknown, id = 'set') => ({
  id,
  type: 'update_field',
  config: { key, value },
});

describe('a step that updates a field', () => {
  let fixture: AutomationsFixture;

  beforeAll(async () => {
    fixture = await AutomationsFixture.open({}, 'TEST', ListeningPublisher);
    const fields: readonly [string, CustomFieldType][] = [
      ['note', 'TEXT'],
      ['total', 'DECIMAL'],
      ['count', 'NUMBER'],
      ['vip', 'BOOLEAN'],
      ['born', 'DATE'],
      ['plan', 'SELECT'],
      ['tags', 'MULTI_SELECT'],
    ];
    for (const [key, type] of fields) {
      const values = key === 'plan' ? ['free', 'pro'] : key === 'tags' ? ['a', 'b', 'c'] : [];
      const options = values.map((value) => ({ value, label: value }));
      await fixture.messaging
        .get(CustomFieldsService)
        .create(fixture.scope, { key, type, displayName: key, options });
    }
  });
  afterAll(() => fixture?.close());

  const found = (email: string) => fixture.messaging.get(SubscribersQuery).get(fixture.scope, address(email));
  const last = async (id: string) => {
    const [execution] = await fixture.executions(id);
    const { status, detail } = execution!.steps.at(-1)!;
    return `${status}: ${detail}`;
  };

  /** Lets somebody with these fields through the one step; resolves to what is left of it and of them. */
  async function through(key: string, value: unknown, event: Record<string, unknown>, customFields = {}) {
    const id = await fixture.active(chain(trigger(), update(key, value)));
    const { email } = await fixture.person({ customFields });
    await fixture.enter(id, email, event);
    await fixture.run();
    expect(await fixture.totals(id)).toEqual([1, 1, 0]);
    return { step: await last(id), person: await found(email) };
  }

  it.each<[key: string, value: unknown, event: Record<string, unknown>, stored: unknown]>([
    ['note', 'Seen', {}, 'Seen'],
    ['note', 'Order {{ event.number }} of {{ subscriber.first_name }}', { number: 7 }, 'Order 7 of Ada'],
    ['note', '{{ event.number }}', { number: 7 }, '7'],
    ['note', '{{ event.ship.city | upcase }}', { ship: { city: 'Graz' } }, 'GRAZ'],
    ['custom.note', '{{ event.coupon | default: "none" }}', {}, 'none'],
    ['total', '{{ event.total }}', { total: 49.9 }, 49.9],
    ['total', '{{ event.total }}', { total: '49.90' }, 49.9],
    ['count', '{{ event.items }}', { items: 3 }, 3],
    ['count', 5, {}, 5],
    ['vip', '{{ event.vip }}', { vip: false }, false],
    ['vip', true, {}, true],
    ['born', '{{ event.day }}', { day: '1990-05-17' }, '1990-05-17'],
    ['plan', '{{ event.plan }}', { plan: 'pro' }, 'pro'],
    ['tags', '{{ event.tags }}', { tags: ['c', 'a'] }, ['a', 'c']],
    ['tags', ['b'], {}, ['b']],
  ])('sets %s to %j', async (key, value, event, stored) => {
    const { step, person } = await through(key, value, event);
    expect(step).toBe('DONE: changed');
    expect(person.customFields).toEqual({ [key.replace('custom.', '')]: stored });
  });

  it.each([
    ['first_name', '{{ event.name }}', { name: ' Grace ' }, { firstName: 'Grace' }],
    ['subscriber.last_name', 'Hopper', {}, { lastName: 'Hopper' }],
    ['phone', '{{ event.phone }}', { phone: 4312345 }, { phone: '4312345' }],
    ['subscriber.locale', '{{ event.language }}', { language: 'pt-br' }, { locale: 'pt-BR' }],
    ['subscriber.time_zone', 'Europe/Graz', {}, null],
    ['subscriber.time_zone', null, {}, { timeZone: null }],
  ])('sets %s, which every subscriber has, to %j', async (key, value, event, stored) => {
    if (stored === null) {
      await expect(through(key, value, event)).rejects.toMatchObject({
        checks: [{ path: 'nodes[1].config.value' }],
      });
      return;
    }
    const { step, person } = await through(key, value, event);
    expect([step, person]).toEqual(['DONE: changed', expect.objectContaining(stored)]);
  });

  it.each<[key: string, value: string, event: Record<string, unknown>, reason: string]>([
    ['count', '{{ event.items }}', { items: 'three' }, 'count must be an integer'],
    ['count', '{{ event.items }}', { items: [1, 2] }, 'count must be an integer'],
    ['count', '{{ event.items }}', {}, 'count: {{ event.items }} is empty'],
    ['count', '{{ event.items }}', { items: '' }, 'count: the value is empty'],
    ['note', 'From {{ event.city }} with {{ event.love }}', { city: 'Graz' }, 'note: a merge tag is empty'],
    ['note', '{{ event.city }}', { city: { name: 'Graz' } }, 'note must be a string'],
    [
      'note',
      'Order {{ event.order }}',
      { order: { no: 'A1' } },
      'note: {{ event.order }} is an object, which no text shows',
    ],
    ['plan', '{{ event.plan }}', { plan: 'gold' }, 'plan must be one of free, pro'],
    ['first_name', '{{ event.name }}', { name: 'x'.repeat(51) }, 'first_name must be at most 50 characters'],
  ])('leaves %s as it is, says why, and the run goes on: %s of %j', async (key, value, event, reason) => {
    const { step, person } = await through(key, value, event, { count: 1, note: 'old', plan: 'free' });
    expect(step).toBe(`FAILED: ${reason}`);
    expect(person).toMatchObject({ firstName: 'Ada', customFields: { count: 1, note: 'old', plan: 'free' } });
  });

  it('clears a field with null, and says where nothing changes', async () => {
    const cleared = await through('note', null, {}, { note: 'old', count: 1 });
    expect([cleared.step, cleared.person.customFields]).toEqual(['DONE: changed', { count: 1 }]);
    published.length = 0;
    expect((await through('note', 'old', {}, { note: 'old' })).step).toBe('DONE: unchanged');
    expect(published.filter(({ type }) => type === 'subscriber.updated')).toEqual([]);
  });

  it('is seen by the steps behind it, and told to listeners as a change by a client is', async () => {
    const id = await fixture.active({
      nodes: JSON.stringify([
        trigger(),
        update('plan', 'pro'),
        { id: 'isPro', type: 'condition', config: { rules: where('custom.plan', 'pro') } },
        delay('yes', 'P1D'),
        delay('no', 'P1D'),
      ]),
      edges: ways('start > set', 'set > isPro', 'isPro > yes: yes', 'isPro > no: no'),
    });
    const { id: subscriberId, email } = await fixture.person();
    await fixture.enter(id, email);
    published.length = 0;
    await fixture.run();
    expect(await fixture.paths(id, email)).toEqual(['ACTIVE: start, set, isPro, yes WAITING']);
    const data = await found(email);
    expect(data.updatedAt).toEqual(fixture.messaging.clock.now());
    expect(published).toEqual([{ type: 'subscriber.updated', subscriberId, data }]);
    const patched = { customFields: { plan: 'free' } };
    await fixture.messaging
      .get(SubscribersService)
      .update(fixture.scope, address(email), patched, { actor: 'API_KEY', actorId: null });
    expect(Object.keys(published[1]!.data).toSorted()).toEqual(Object.keys(published[0]!.data).toSorted());
  });

  it('is one statement, whole in test/statements', async () => {
    const texts = await textsCompiledBy(() => through('note', 'Seen', {}));
    const { now, committed } = await statementText('update_fields', texts);
    expect(now).toBe(committed);
  });

  it('takes one statement for everybody, each with a value of their own, and skips who was erased', async () => {
    const id = await fixture.active(chain(trigger({ reEntry: 'ALWAYS' }), update('count', '{{ event.n }}')));
    const people = [];
    for (let n = 0; n < 40; n += 1) {
      const person = await fixture.person();
      people.push({ ...person, n });
      await fixture.enter(id, person.email, { n });
    }
    const [twice, gone] = people;
    await fixture.enter(id, twice!.email, { n: 'x' });
    await fixture.enter(id, twice!.email, { n: 100 });
    await fixture.messaging.test.query('delete from audience.subscribers where id = $1', [gone!.id]);
    const texts = await textsCompiledBy(() => fixture.run());
    expect(texts.filter((text) => text.trim().startsWith('/* update_fields */'))).toHaveLength(2);
    for (const { email, n } of people.slice(2))
      expect((await found(email)).customFields).toEqual({ count: n });
    expect((await found(twice!.email)).customFields).toEqual({ count: 100 });
    const details = (await fixture.executions(id)).map(({ steps }) => steps.at(-1)?.detail);
    expect(details.filter((detail) => detail === 'changed')).toHaveLength(40);
    expect(new Set(details.filter((detail) => detail !== 'changed'))).toEqual(
      new Set(['count must be an integer', 'erased']),
    );
  });
});
