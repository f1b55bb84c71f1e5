import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { AudienceFixture } from './audience.fixture.js';
import { RecipientsQuery } from './recipients.query.js';

describe('a look-up in a project that grew since the tables were analysed', () => {
  let fixture: AudienceFixture;
  let grown: ProjectScope;

  beforeAll(async () => {
    fixture = await AudienceFixture.open();
    const { live } = await fixture.project('OLD');
    await insertSubscribers(fixture.test, live, (await fixture.topic(live)).id, 5_000);
    await fixture.test.query('alter table audience.subscribers set (autovacuum_enabled = off)');
    await fixture.test.query('vacuum (analyze) audience.subscribers');
    grown = (await fixture.project('NEW')).live;
    await fixture.test.query(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, created_at, updated_at)
       select platform.new_id(), $1, subscriber_key, email, email_key, source, status, created_at, updated_at
       from audience.subscribers where environment_id = $2`,
      [grown.environmentId, live.environmentId],
    );
  });
  afterAll(() => fixture?.close());

  async function estimated(plans: 'of the connection' | 'custom'): Promise<number> {
    return fixture.database.transaction(grown, async () => {
      const tables = fixture.database.tables();
      if (plans === 'custom') await sql`set local plan_cache_mode = force_custom_plan`.execute(tables);
      await sql`
        prepare looked_up (bigint) as select 1 from audience.scoped_subscribers b where b.environment_id = $1
      `.execute(tables);
      const { rows } = await sql<Record<string, { Plan: { 'Plan Rows': number } }[]>>`
        explain (format json) execute looked_up (${sql.lit(grown.environmentId)})
      `.execute(tables);
      await sql`deallocate looked_up`.execute(tables);
      return Object.values(rows[0]!)[0]![0]!.Plan['Plan Rows'];
    });
  }

  it('does not take the project for empty, by which every index would seem as good as that of the addresses', async () => {
    expect(await estimated('of the connection')).toBeGreaterThan(20);
    // The reason for the setting: should PostgreSQL learn this one day, it can go.
    expect(await estimated('custom')).toBe(1);
  });
});

describe('a page of a campaign in a large project among thousands of small ones', () => {
  let fixture: AudienceFixture;
  beforeAll(async () => {
    fixture = await AudienceFixture.open();
  });
  afterAll(() => fixture?.close());

  it('is looked up by the ids of its people, though the average project has fewer', async () => {
    const { live } = await fixture.project();
    const topic = await fixture.topic(live);
    await fixture.test.query(
      `insert into audience.subscribers (id, environment_id, subscriber_key, email, email_key, source, status, created_at, updated_at)
       select platform.new_id(), 1000000 + n / 2, n, n || '@example.com', n || '@example.com', 'IMPORT', 'ACTIVE', now(), now()
       from generate_series(1, 16000) n`,
    );
    await insertSubscribers(fixture.test, live, topic.id, 4_000);
    const page = fixture.get(RecipientsQuery).audience(live, [topic.id], new Date(), { size: 5_000 });
    const { sql: text, parameters } = fixture.database.compile(sql`with ${page} select * from audience`);
    const plan = await fixture.database.transaction(live, async () => {
      const tables = fixture.database.tables();
      await sql.raw(`prepare page as ${text}`).execute(tables);
      const { rows } = await sql
        .raw(`explain execute page(${parameters.map(() => 'null').join()})`)
        .execute(tables);
      await sql.raw('deallocate page').execute(tables);
      return JSON.stringify(rows);
    });
    expect(plan).toContain('subscribers_pkey on subscribers');
  });
});
