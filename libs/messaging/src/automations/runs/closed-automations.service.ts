import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';

const CHUNK = 10_000;

/** Ends the active runs of automations that were archived. */
@Injectable()
export class ClosedAutomations {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Ends a chunk of them; resolves to whether there may be more. */
  close(scope: ProjectScope, automationId: string): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const { numAffectedRows = 0n } = await sql`
        update messaging.automation_runs set status = 'CANCELLED', wake_at = null, finished_at = ${this.clock.now()}
        where environment_id = ${scope.environmentId} and id = any(array(
          select r.id from messaging.automation_versions v
          join messaging.automation_runs r on r.version_id = v.id and r.environment_id = v.environment_id
          where v.environment_id = ${scope.environmentId} and v.automation_id = ${automationId} and r.wake_at is not null
          limit ${CHUNK} for update of r
        ))
      `.execute(this.database.tables());
      if (numAffectedRows > 0n) return true;
      await this.database
        .tables<MessagingTables>()
        .updateTable('messaging.automations')
        .set({ isClosing: false })
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', automationId)
        .where('status', '=', 'ARCHIVED')
        .execute();
      return false;
    });
  }
}
