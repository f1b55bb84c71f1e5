import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';

const CHUNK = 10_000;

/** Sends people off who are in an automation that was archived. */
@Injectable()
export class ClosedAutomations {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** A chunk of them; true while there are more. */
  close(scope: ProjectScope, automationId: string): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows = 0n } = await sql`
        update messaging.automation_runs set status = 'CANCELLED', wake_at = null, finished_at = ${this.clock.now()}
        where id = any(array(
          select r.id from messaging.automation_versions v join messaging.automation_runs r on r.version_id = v.id
          where v.environment_id = ${scope.environmentId} and v.automation_id = ${automationId} and r.wake_at is not null
          limit ${CHUNK} for update of r
        ))
      `.execute(db);
      if (numAffectedRows > 0n) return true;
      await sql`
        update messaging.automations set is_closing = false
        where environment_id = ${scope.environmentId} and id = ${automationId} and status = 'ARCHIVED'
      `.execute(db);
      return false;
    });
  }
}
