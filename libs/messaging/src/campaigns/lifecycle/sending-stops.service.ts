import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';

/** Whether a project's live sending is stopped for its bounces or complaints. */
@Injectable()
export class SendingStops {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Why it is stopped; null when it is not. */
  reasonOf(scope: ProjectScope): Promise<string | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ reason: string }>`
        select reason from messaging.sending_stops
        where environment_id = ${scope.environmentId} and resumed_at is null
      `.execute(db);
      return rows[0]?.reason ?? null;
    });
  }

  /**
   * Lets the project send again; its campaigns stay paused until their author resumes them. What came back until now is
   * not held against it any more. False when it was not stopped.
   */
  resume(scope: ProjectScope): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows } = await sql`
        update messaging.sending_stops set resumed_at = ${this.clock.now()}
        where environment_id = ${scope.environmentId} and resumed_at is null
      `.execute(db);
      return numAffectedRows === 1n;
    });
  }
}
