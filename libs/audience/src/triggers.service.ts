import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, neverJoined, present } from '#platform';
import type { AudienceTables, AwaitedTrigger } from './audience-tables.js';
import { propertiesPath } from './rules/event-properties.js';

/** Channel on which waiters hear that a trigger may have been recorded. */
export const TRIGGERS_CHANNEL = 'mailwright_automation_triggers';

/**
 * Records triggers for waiters, such as automations: a row for each waiter and occurrence, written by database triggers in the
 * statement that causes it, so that none is missed or recorded twice. A waiter has its own id.
 */
@Injectable()
export class TriggersService {
  constructor(private readonly database: Database) {}

  /** Records these triggers, and no others, of what happens from the open transaction on. Recorded ones stay. */
  watch(
    { environmentId }: ProjectScope,
    watcherId: string,
    { kind, subject, where = [] }: AwaitedTrigger,
  ): Promise<unknown> {
    const conditions = where.length === 0 ? null : propertiesPath(where);
    const awaited = { kind, subject, conditions, isOpen: true };
    return this.database
      .tables<AudienceTables>()
      .insertInto('audience.trigger_watches')
      .values({ watcherId, environmentId, ...awaited, openSince: present })
      .onConflict((conflict) =>
        conflict
          .columns(['watcherId', 'environmentId'])
          .doUpdateSet((eb) => ({ ...awaited, openSince: eb.ref('excluded.openSince') })),
      )
      .execute();
  }

  /** Stops recording; recorded triggers stay. */
  pause({ environmentId }: ProjectScope, watcherId: string): Promise<unknown> {
    return this.database
      .tables<AudienceTables>()
      .updateTable('audience.trigger_watches')
      .set({ isOpen: false })
      .where('environmentId', '=', environmentId)
      .where('watcherId', '=', watcherId)
      .execute();
  }

  /** Stops recording and deletes recorded triggers. */
  forget({ environmentId }: ProjectScope, watcherId: string): Promise<unknown> {
    return this.database
      .tables<AudienceTables>()
      .deleteFrom('audience.trigger_watches')
      .where('environmentId', '=', environmentId)
      .where('watcherId', '=', watcherId)
      .execute();
  }

  /** Paths in properties, among these, that no event of the name has had since then, as their names joined by dots. */
  async pathsNeverSeen(
    scope: ProjectScope,
    { name, since }: { readonly name: string; readonly since: Date },
    paths: readonly (readonly string[])[],
  ): Promise<readonly string[]> {
    if (paths.length === 0) return [];
    const tests = paths.map((path) => propertiesPath([{ path, op: 'exists', value: undefined }]));
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ path: string }>`
        select p.path from unnest(${paths.map((names) => names.join('.'))}::text[], ${tests}::text[]) p(path, test)
        where not exists (
          select 1 from audience.subscriber_events e
          where e.environment_id = ${scope.environmentId} and e.name = ${name} and e.occurred_at >= ${since}
            and e.properties @@ p.test::jsonpath
        )
      `.execute(this.database.tables());
      return rows.map(({ path }) => path);
    });
  }

  /** A condition of SQL: the subscriber with this id was not erased. */
  isThere(scope: ProjectScope, subscriberId: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`exists (
      select 1 from audience.subscribers b where b.id = ${subscriberId} and b.environment_id = ${scope.environmentId}
    )`;
  }

  /** The waiters of all projects with recorded triggers, each with its environment, for the system's transactions. */
  pending(): RawBuilder<unknown> {
    return sql`select w.watcher_id, w.environment_id from audience.trigger_watches w
      where exists (
        select 1 from audience.recorded_triggers s
        where s.watcher_id = w.watcher_id and s.environment_id = w.environment_id ${neverJoined}
      )`;
  }

  /**
   * A DELETE that returns the oldest recorded triggers, each once, as `id bigint, subscriber_id uuid, data jsonb`. In a WITH it
   * takes them in the caller's transaction.
   */
  taking(scope: ProjectScope, watcherId: string, limit: number): RawBuilder<unknown> {
    return sql`
      delete from audience.recorded_triggers s
      where s.environment_id = ${scope.environmentId} and s.id = any(array(
        select id from audience.recorded_triggers where environment_id = ${scope.environmentId} and watcher_id = ${watcherId}
        order by id limit ${limit} for update skip locked
      ))
      returning s.id, s.subscriber_id, s.data
    `;
  }
}
