import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { DomainValidationError, InvalidStateError, NotFoundError, type ProjectScope } from '#kernel';
import { address, AudienceFixture, PROOF } from '../audience.fixture.js';
import { RecipientsQuery } from '../recipients.query.js';
import { SignUpService } from '../sign-up/sign-up.service.js';
import { SubscribersQuery } from '../subscribers/subscribers.query.js';
import { SubscribersService } from '../subscribers/subscribers.service.js';
import { CustomFieldsQuery } from './custom-field.repository.js';
import { CustomFieldsService, type NewCustomField } from './custom-fields.service.js';

const ADA = address('ada@example.com');
const choice = (...values: string[]) => values.map((value) => ({ value, label: value.toUpperCase() }));

describe('custom fields', () => {
  let audience: AudienceFixture;
  let service: CustomFieldsService;
  let removal: CustomFieldsService;
  let query: CustomFieldsQuery;
  let subscribers: SubscribersService;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
    service = audience.get(CustomFieldsService);
    removal = audience.get(CustomFieldsService);
    query = audience.get(CustomFieldsQuery);
    subscribers = audience.get(SubscribersService);
  });
  afterAll(() => audience.close());

  const make = (scope: ProjectScope, key: string, rest: Partial<NewCustomField> = {}) =>
    service.create(scope, { key, type: 'TEXT', displayName: key, ...rest });

  /** Ada, in a project of her own, with these custom fields. */
  async function subscribe(scope: ProjectScope, customFields: Record<string, unknown>) {
    const { topicKey } = await audience.topic(scope);
    return audience
      .get(SignUpService)
      .create(scope, { address: ADA, topicKeys: [topicKey], source: 'API', customFields }, PROOF);
  }

  const stored = async (scope: ProjectScope) => {
    const [row] = await audience.test.query<{ values: unknown }>(
      'select custom_fields::text as values from audience.subscribers where environment_id = $1',
      [scope.environmentId],
    );
    return JSON.parse(String(row?.values)) as unknown;
  };

  it('are listed oldest first behind those of the system', async () => {
    const scope = await audience.scope();
    const plan = await make(scope, 'plan', {
      type: 'SELECT',
      options: choice('pro', 'free'),
      isRequired: true,
    });
    audience.clock.advance(1);
    const age = await make(scope, 'age', { type: 'NUMBER', defaultValue: '18', description: 'Years' });
    expect(plan).toMatchObject({
      key: 'plan',
      options: choice('pro', 'free'),
      isRequired: true,
      isSystem: false,
      description: null,
      defaultValue: null,
      archivedAt: null,
    });
    const list = await query.list(scope);
    expect(list.map(({ key, isSystem }) => [key, isSystem])).toEqual([
      ['email', true],
      ['first_name', true],
      ['last_name', true],
      ['phone', true],
      ['plan', false],
      ['age', false],
    ]);
    expect(list.slice(4)).toEqual([plan, age]);
    expect(await query.byKey(scope, 'age')).toEqual(age);
    expect(await query.byKey(scope, 'email')).toMatchObject({ type: 'EMAIL', isSystem: true });
    for (const key of ['nope', 'no \u0000 key'])
      await expect(query.byKey(scope, key)).rejects.toThrow(NotFoundError);
  });

  it('are refused when their key is taken or reserved, or their default or options do not fit the type', async () => {
    const scope = await audience.scope();
    await make(scope, 'plan');
    for (const [key, fault] of [
      ['plan', 'is already used by another field'],
      ['email', 'is reserved'],
      ['first_name', 'is reserved'],
      ['constructor', 'is reserved'],
      ['prototype', 'is reserved'],
    ] as const) {
      await expect(make(scope, key)).rejects.toMatchObject({ errors: { key: fault } });
    }
    await expect(make(scope, 'plan', { type: 'NUMBER', defaultValue: 'many' })).rejects.toMatchObject({
      constructor: DomainValidationError,
      errors: { key: 'is already used by another field', defaultValue: 'must be an integer' },
    });
    const odd = [
      [{ type: 'SELECT', options: choice('a'), defaultValue: 'b' }, { defaultValue: 'must be one of a' }],
      [{ type: 'MULTI_SELECT' }, { options: 'must have at least 1 item for MULTI_SELECT' }],
      [{ type: 'TEXT', options: choice('a') }, { options: 'must be empty for TEXT' }],
    ] as const;
    for (const [rest, errors] of odd)
      await expect(make(scope, 'odd', rest)).rejects.toMatchObject({ errors });
    expect(
      await make(scope, 'odd', { type: 'MULTI_SELECT', options: choice('a', 'b'), defaultValue: 'b,a' }),
    ).toMatchObject({
      defaultValue: 'b,a',
    });
  });

  it('change as a merge-patch says, and not at all when it says nothing new', async () => {
    const scope = await audience.scope();
    const plan = await make(scope, 'plan', {
      type: 'SELECT',
      options: choice('a', 'b'),
      description: 'D',
      defaultValue: 'b',
    });
    audience.clock.advance(1_000);
    expect(await service.updateDetails(scope, 'plan', {})).toEqual(plan);
    expect(
      await removal.updateConfig(scope, 'plan', { options: choice('a', 'b'), defaultValue: 'b' }),
    ).toEqual(plan);
    const details = { displayName: 'Plan', description: null, isRequired: true };
    expect(await service.updateDetails(scope, 'plan', details)).toEqual({
      ...plan,
      ...details,
      updatedAt: audience.clock.now(),
    });
    expect(await removal.updateConfig(scope, 'plan', { options: choice('c', 'b') })).toMatchObject({
      options: choice('c', 'b'),
      defaultValue: 'b',
    });
    await expect(removal.updateConfig(scope, 'plan', { options: choice('c') })).rejects.toMatchObject({
      errors: { defaultValue: 'must be one of c' },
    });
    expect(
      await removal.updateConfig(scope, 'plan', { options: choice('c'), defaultValue: null }),
    ).toMatchObject({
      options: choice('c'),
      defaultValue: null,
      displayName: 'Plan',
    });
    await expect(removal.updateConfig(scope, 'plan', { options: [] })).rejects.toMatchObject({
      errors: { options: 'must have at least 1 item for SELECT' },
    });
    await expect(service.updateDetails(scope, 'nope', {})).rejects.toThrow(NotFoundError);
  });

  it('of the system and archived ones refuse to change', async () => {
    const scope = await audience.scope();
    await make(scope, 'plan');
    await removal.archive(scope, 'plan');
    for (const [key, currentState, allowedStates] of [
      ['email', 'SYSTEM', []],
      ['plan', 'ARCHIVED', ['ACTIVE']],
    ] as const) {
      const refusal = { constructor: InvalidStateError, currentState, allowedStates };
      await expect(service.updateDetails(scope, key, {})).rejects.toMatchObject(refusal);
      await expect(removal.updateConfig(scope, key, {})).rejects.toMatchObject(refusal);
    }
    const options = choice('a');
    await expect(removal.updateConfig(scope, 'plan', { options })).rejects.toThrow(DomainValidationError);
    await expect(removal.archive(scope, 'phone')).rejects.toThrow(InvalidStateError);
    await expect(removal.archive(scope, 'nope')).rejects.toThrow(NotFoundError);
  });

  it('keep an option as long as a subscriber has it', async () => {
    const scope = await audience.scope();
    await make(scope, 'plan', { type: 'SELECT', options: choice('pro', 'free', 'team') });
    await make(scope, 'tags', { type: 'MULTI_SELECT', options: choice('a', 'b', 'c') });
    await subscribe(scope, { plan: 'pro', tags: ['c', 'a'] });
    await expect(removal.updateConfig(scope, 'plan', { options: choice('team') })).rejects.toMatchObject({
      errors: { options: 'must keep pro: subscribers have these values' },
    });
    await expect(removal.updateConfig(scope, 'tags', { options: choice('b') })).rejects.toMatchObject({
      errors: { options: 'must keep a, c: subscribers have these values' },
    });
    expect((await removal.updateConfig(scope, 'plan', { options: choice('pro') })).options).toEqual(
      choice('pro'),
    );
    await subscribers.update(scope, ADA, { customFields: { plan: null, tags: ['b'] } }, PROOF);
    expect((await removal.updateConfig(scope, 'tags', { options: choice('b') })).options).toEqual(
      choice('b'),
    );
    expect((await removal.updateConfig(scope, 'plan', { options: choice('x') })).options).toEqual(
      choice('x'),
    );
  });

  it('have values that are stored typed and come back as they are', async () => {
    const scope = await audience.scope();
    const types = ['TEXT', 'NUMBER', 'DECIMAL', 'BOOLEAN', 'DATE', 'DATETIME', 'PHONE'] as const;
    for (const type of types) await make(scope, `a_${type.toLowerCase()}`, { type });
    await make(scope, 'tags', { type: 'MULTI_SELECT', options: choice('a', 'b') });
    const values = {
      a_text: 'Zoë "🎉" \\u0000',
      a_number: '9007199254740991',
      a_decimal: '0.123456789012345',
      a_boolean: 'true',
      a_date: '2026-11-21',
      a_datetime: '2026-11-21T07:00:00+01:00',
      a_phone: '+49 30 123456',
      tags: 'b,a',
    };
    const native = {
      ...values,
      a_number: 9007199254740991,
      a_decimal: 0.123456789012345,
      a_boolean: true,
      a_datetime: '2026-11-21T06:00:00.000Z',
      a_phone: '+4930123456',
      tags: ['a', 'b'],
    };
    expect((await subscribe(scope, values)).customFields).toEqual(native);
    expect((await audience.get(SubscribersQuery).get(scope, ADA)).customFields).toEqual(native);
    expect(await stored(scope)).toEqual(native);
  });

  it('are merged into a subscriber, and a change of nothing changes nothing', async () => {
    const scope = await audience.scope();
    await make(scope, 'plan', { isRequired: true });
    await make(scope, 'age', { type: 'NUMBER', defaultValue: '18' });
    await expect(subscribe(scope, {})).rejects.toMatchObject({
      errors: { 'customFields.plan': 'is required' },
    });
    const ada = await subscribe(scope, { plan: 'pro', age: '41' });
    audience.clock.advance(1_000);
    expect(await subscribers.update(scope, ADA, { customFields: { age: 41 } }, PROOF)).toEqual(ada);
    expect(await subscribers.update(scope, ADA, { firstName: 'Ada' }, PROOF)).toMatchObject({
      customFields: { plan: 'pro', age: 41 },
    });
    const cleared = await subscribers.update(scope, ADA, { customFields: { age: null } }, PROOF);
    expect(cleared).toMatchObject({
      firstName: 'Ada',
      customFields: { plan: 'pro' },
      updatedAt: audience.clock.now(),
    });
    expect(await stored(scope)).toEqual({ plan: 'pro' });
    await expect(
      subscribers.update(
        scope,
        ADA,
        { firstName: 'X', customFields: { plan: null, age: 'old', nope: 1 } },
        PROOF,
      ),
    ).rejects.toMatchObject({
      errors: {
        'customFields.plan': 'is required',
        'customFields.age': 'must be an integer',
        'customFields.nope': 'is not a known field',
      },
    });
  });

  it('keep their values unseen while they are archived, and show them when the key is used again', async () => {
    const scope = await audience.scope();
    await make(scope, 'plan', { type: 'SELECT', options: choice('pro', 'free'), isRequired: true });
    await make(scope, 'age', { type: 'NUMBER' });
    const { id } = await subscribe(scope, { plan: 'pro', age: 41 });
    await removal.archive(scope, 'plan');
    await removal.archive(scope, 'plan');
    expect(await query.byKey(scope, 'plan')).toMatchObject({
      status: 'ARCHIVED',
      archivedAt: audience.clock.now(),
    });
    expect((await query.list(scope)).map(({ key }) => key)).not.toContain('plan');
    await expect(
      subscribers.update(scope, ADA, { customFields: { plan: 'free' } }, PROOF),
    ).rejects.toMatchObject({
      errors: { 'customFields.plan': 'is not a known field' },
    });
    expect((await subscribers.update(scope, ADA, { customFields: { age: 42 } }, PROOF)).customFields).toEqual(
      {
        age: 42,
      },
    );
    const list = await audience.get(SubscribersQuery).page(scope, {}, { page: 0, size: 1 });
    expect(list.items[0]?.customFields).toEqual({ age: 42 });
    const recipients = await audience.get(RecipientsQuery).lookUp(scope, [], [id], audience.clock.now());
    expect(recipients.get(id)?.customFields).toEqual({ age: 42 });
    expect(await stored(scope)).toEqual({ plan: 'pro', age: 42 });

    await expect(make(scope, 'plan', { type: 'NUMBER' })).rejects.toMatchObject({
      errors: { type: 'must be SELECT: subscribers have values of an archived field with this key' },
    });
    await expect(make(scope, 'plan', { type: 'SELECT', options: choice('free') })).rejects.toMatchObject({
      errors: { options: 'must keep pro: subscribers have these values' },
    });
    const again = await make(scope, 'plan', { type: 'SELECT', options: choice('pro') });
    expect(again).toMatchObject({ status: 'ACTIVE', archivedAt: null, isRequired: false });
    expect((await audience.get(SubscribersQuery).get(scope, ADA)).customFields).toEqual({
      plan: 'pro',
      age: 42,
    });
  });

  it('may come back as another type as long as nobody has a value', async () => {
    const scope = await audience.scope();
    await make(scope, 'age');
    await removal.archive(scope, 'age');
    expect(await make(scope, 'age', { type: 'NUMBER' })).toMatchObject({ type: 'NUMBER' });
    expect((await subscribe(scope, { age: 41 })).customFields).toEqual({ age: 41 });
  });

  it('give recipients typed values, and defaults that are never written', async () => {
    const scope = await audience.scope();
    await make(scope, 'vip', { type: 'BOOLEAN', defaultValue: 'false' });
    await make(scope, 'tags', { type: 'MULTI_SELECT', options: choice('a', 'b'), defaultValue: 'b,a' });
    await make(scope, 'age', { type: 'NUMBER', defaultValue: '18' });
    await make(scope, 'plan');
    const { id } = await subscribe(scope, { age: 41 });
    const recipients = await audience.get(RecipientsQuery).lookUp(scope, [], [id], audience.clock.now());
    expect(recipients.get(id)?.customFields).toEqual({ vip: false, tags: ['a', 'b'], age: 41 });
    expect(await stored(scope)).toEqual({ age: 41 });
  });

  it('are one of each key and at most 100 active ones, even when many are made at the same moment', async () => {
    const scope = await audience.scope();
    const twins = await Promise.allSettled(Array.from({ length: 6 }, () => make(scope, 'twin')));
    expect(twins.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    await audience.test.query(
      `insert into audience.custom_fields (id, environment_id, key, type, display_name, is_required, status, created_at, updated_at)
       select platform.new_id(), $1, 'bulk_' || n, 'TEXT', 'Bulk', false, 'ACTIVE', now(), now() from generate_series(1, 97) n`,
      [scope.environmentId],
    );
    const last = await Promise.allSettled(
      Array.from({ length: 6 }, (_, index) => make(scope, `last_${index}`)),
    );
    expect(last.filter(({ status }) => status === 'fulfilled')).toHaveLength(2);
    expect(last.find((outcome) => outcome.status === 'rejected')?.reason).toMatchObject({
      errors: { key: 'would be more than 100 active fields' },
    });
    await removal.archive(scope, 'twin');
    await make(scope, 'free_again');
    await expect(make(scope, 'twin')).rejects.toThrow(DomainValidationError);
  });

  it('never lose an option that a subscriber gets at the same moment', async () => {
    for (let round = 0; round < 5; round += 1) {
      const scope = await audience.scope();
      await make(scope, 'plan', { type: 'SELECT', options: choice('pro', 'free') });
      const outcomes = await Promise.allSettled([
        subscribe(scope, { plan: 'pro' }),
        removal.updateConfig(scope, 'plan', { options: choice('free') }),
      ]);
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });

  it('of other projects and of the other environment do not exist', async () => {
    const { live, test } = await audience.project('ONE');
    await make(test, 'plan', { isRequired: true, defaultValue: 'free' });
    for (const stranger of [live, await audience.scope('ONE')]) {
      await expect(query.byKey(stranger, 'plan')).rejects.toThrow(NotFoundError);
      await expect(service.updateDetails(stranger, 'plan', { displayName: 'Mine' })).rejects.toThrow(
        NotFoundError,
      );
      await expect(removal.updateConfig(stranger, 'plan', { defaultValue: null })).rejects.toThrow(
        NotFoundError,
      );
      await expect(removal.archive(stranger, 'plan')).rejects.toThrow(NotFoundError);
      expect(await query.definitions(stranger)).toEqual([]);
      const { id, customFields } = await subscribe(stranger, {});
      expect(customFields).toEqual({});
      const recipients = await audience.get(RecipientsQuery).lookUp(stranger, [], [id], audience.clock.now());
      expect(recipients.get(id)?.customFields).toEqual({});
      await make(stranger, 'plan', { type: 'SELECT', options: choice('pro') });
      await expect(
        subscribers.update(stranger, ADA, { customFields: { plan: 'free' } }, PROOF),
      ).rejects.toThrow(DomainValidationError);
    }
    await subscribe(test, { plan: 'x' });
    await removal.archive(live, 'plan');
    expect((await audience.get(SubscribersQuery).get(test, ADA)).customFields).toEqual({ plan: 'x' });
  });

  it('are searched among the subscribers of one environment only, and through the index of their values', async () => {
    const { live, test } = await audience.project('ONE');
    for (const scope of [live, test]) {
      await make(scope, 'plan');
      await subscribe(scope, { plan: scope.environment });
    }
    const found = (scope: ProjectScope, plan: string) =>
      audience.database.transaction(scope, async () => {
        const { rows } = await sql<{ environmentId: number }>`
          select environment_id from audience.scoped_subscribers where custom_fields @> ${JSON.stringify({ plan })}::jsonb
        `.execute(audience.database.tables());
        return rows.map((row) => row.environmentId);
      });
    expect(await found(live, 'LIVE')).toEqual([live.environmentId]);
    expect(await found(test, 'TEST')).toEqual([test.environmentId]);
    expect(await found(test, 'LIVE')).toEqual([]);
    await audience.test.query(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, custom_fields,
         created_at, updated_at)
       select platform.new_id(), $1, 'BULK-' || n, n || '@example.org', n || '@example.org', 'IMPORT', 'UNSUBSCRIBED',
         jsonb_build_object('plan', 'p' || n), now(), now()
       from generate_series(1, 3000) n`,
      [test.environmentId],
    );
    await audience.test.query('analyze audience.subscribers');
    const plan = await audience.database.transaction(test, async () => {
      const { rows } = await sql<Record<string, string>>`
        explain select 1 from audience.scoped_subscribers where custom_fields @> '{"plan": "TEST"}'
      `.execute(audience.database.tables());
      return rows.map((row) => row['QUERY PLAN']).join('\n');
    });
    expect(plan).toContain('subscribers_of_custom_value');
    const { rows } = await audience.database.system(() =>
      sql`select 1 from audience.scoped_subscribers`.execute(audience.database.tables()),
    );
    expect(rows).toEqual([]);
  });
});
