import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import type { AwaitedTrigger } from './awaited-trigger.js';

/** NOTIFY channel on which it is told that something was noted. */
export const TRIGGERS_CHANNEL = 'mailwright_signals';

/**
 * Notes for those who wait what happens to subscribers: a row for each waiter and each time, written by the statement
 * that makes it happen (triggers do it), so that nothing is missed or told twice. A waiter has an id of its own.
 */
@Injectable()
export class Triggers {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** From when the open transaction commits, this is noted, and nothing else. What was noted before stays. */
  watch(
    { environmentId }: ProjectScope,
    watcherId: string,
    { kind, subject }: AwaitedTrigger,
  ): Promise<unknown> {
    return this.database
      .tables<AudienceTables>()
      .insertInto('audience.signal_watches')
      .values({ watcherId, environmentId, kind, subject, isOpen: true })
      .onConflict((conflict) => conflict.column('watcherId').doUpdateSet({ kind, subject, isOpen: true }))
      .execute();
  }

  /** Nothing more is noted; what was noted stays. */
  rest({ environmentId }: ProjectScope, watcherId: string): Promise<unknown> {
    return this.database
      .tables<AudienceTables>()
      .updateTable('audience.signal_watches')
      .set({ isOpen: false })
      .where('environmentId', '=', environmentId)
      .where('watcherId', '=', watcherId)
      .execute();
  }

  /** What was noted goes, too. */
  forget({ environmentId }: ProjectScope, watcherId: string): Promise<unknown> {
    return this.database
      .tables<AudienceTables>()
      .deleteFrom('audience.signal_watches')
      .where('environmentId', '=', environmentId)
      .where('watcherId', '=', watcherId)
      .execute();
  }

  /** A condition of SQL: the subscriber with this id was not erased. */
  isThere(subscriberId: RawBuilder<unknown>): RawBuilder<boolean> {
    return sql<boolean>`exists (select from audience.subscribers b where b.id = ${subscriberId})`;
  }

  /**
   * Of all projects: the waiters that something was noted for. For the system's transactions. By an OFFSET, which keeps
   * the planner from joining, one row is looked for and not all are read.
   */
  pending(): RawBuilder<unknown> {
    return sql`select w.watcher_id from audience.signal_watches w
      where exists (select from audience.signals s where s.watcher_id = w.watcher_id)`;
  }

  /**
   * A DELETE that returns `id bigint, subscriber_id uuid, data jsonb`: the oldest of what was noted, each once. Whoever puts it in a WITH takes it with the transaction.
   */
  taking(scope: ProjectScope, watcherId: string, limit: number): RawBuilder<unknown> {
    return sql`
      delete from audience.signals s
      where s.environment_id = ${scope.environmentId} and s.id = any(array(
        select id from audience.signals where environment_id = ${scope.environmentId} and watcher_id = ${watcherId}
        order by id limit ${limit} for update skip locked
      ))
      returning s.id, s.subscriber_id, s.data
    `;
  }
}
