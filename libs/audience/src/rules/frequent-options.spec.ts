import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import { newId, type ProjectScope } from '#kernel';
import { AudienceFixture } from '../audience.fixture.js';
import { SubscriberRulesService } from './subscriber-rules.service.js';

const PEOPLE = 400;
const plans = ['free', 'pro', 'team', 'gold', '3'];
/** Options of a hundred people: 50 have the first, 29 the second, one the third; 20 a number, left from another type of the field. */
const PLAN_OF = `case when n % 100 < 50 then '"free"' when n % 100 < 79 then '"pro"' when n % 100 = 79 then '"team"' else '3' end::jsonb`;

describe('a rule for one of several options', () => {
  let audience: AudienceFixture;
  let scope: ProjectScope;

  beforeAll(async () => {
    audience = await AudienceFixture.open();
  });
  afterAll(() => audience.close());

  beforeEach(async () => {
    scope = await projectOf(PEOPLE);
  });

  it('reads the people of a large project where many have one of them', async () => {
    expect(await wayOf(scope, ['free', 'gold'])).toBe('rows');
  });

  it('takes no number for the option that is written like it', async () => {
    for (const options of [
      ['free', '3'],
      ['team', '3'],
    ]) {
      const predicate = await predicateOf(scope, options);
      const { rows } = await audience.database.transaction(scope, () =>
        sql<{
          plan: string;
        }>`select distinct custom_fields ->> 'plan' as plan from audience.scoped_subscribers b
          where ${predicate}`.execute(audience.database.tables()),
      );
      expect(rows).toEqual([{ plan: options[0] }]);
    }
  });

  it('asks the index where few have one', async () => {
    expect(await wayOf(scope, ['team', 'gold'])).toBe('index');
  });

  it('asks the index for a small project beside a large one, and while there is nobody', async () => {
    const small = await projectOf(1);
    await projectOf(PEOPLE * 4);
    expect(await wayOf(small, ['free', 'pro'])).toBe('index');
    expect(await wayOf(await projectOf(0), ['free', 'pro'])).toBe('index');
  });

  it('does so in rules that it names, too', async () => {
    const id = newId();
    await audience.test.query(
      `insert into audience.segments (id, environment_id, segment_key, name, type, status, rules, is_due, created_at, updated_at)
       values ($1, $2, 'APIT-1', 'Many', 'DYNAMIC', 'ACTIVE', $3, false, now(), now())`,
      [id, scope.environmentId, rulesFor(['free', 'pro'])],
    );
    const predicate = await audience.get(SubscriberRulesService).anyOf(scope, [id], audience.clock.now());
    expect(wayIn(audience.database.compile(predicate).sql)).toBe('rows');
  });

  async function projectOf(people: number): Promise<ProjectScope> {
    const made = await audience.scope();
    await audience.test.query(
      `insert into audience.custom_fields (id, environment_id, key, type, display_name, is_required, options, status, created_at, updated_at)
       values ($1, $2, 'plan', 'SELECT', 'Plan', false, $3, 'ACTIVE', now(), now())`,
      [newId(), made.environmentId, JSON.stringify(plans.map((value) => ({ value, label: value })))],
    );
    await audience.test.query(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, custom_fields, created_at, updated_at)
       select gen_random_uuid(), $1, 'APIT-' || n, e.address, e.address, 'API', 'ACTIVE', jsonb_build_object('plan', ${PLAN_OF}), now(), now()
       from generate_series(1, $2::int) n, lateral (select format('person-%s@example.com', n) as address) e`,
      [made.environmentId, people],
    );
    return made;
  }

  async function predicateOf(asked: ProjectScope, options: readonly string[]) {
    const predicates = audience.get(SubscriberRulesService);
    const rules = await predicates.read(asked, rulesFor(options), null);
    return predicates.ofRules(asked, rules, audience.clock.now());
  }

  async function wayOf(asked: ProjectScope, options: readonly string[]): Promise<string> {
    const predicate = await predicateOf(asked, options);
    return wayIn(audience.database.compile(predicate).sql);
  }
});

function rulesFor(options: readonly string[]): string {
  return JSON.stringify({ version: 1, where: { field: 'custom.plan', op: 'in', value: options } });
}

/** Containment is what the index answers. */
function wayIn(text: string): string {
  return text.includes('@>') ? 'index' : 'rows';
}
