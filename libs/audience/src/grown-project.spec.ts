import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { insertSubscribers } from '#testing/subscribers';
import { AudienceFixture } from './audience.fixture.js';

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
