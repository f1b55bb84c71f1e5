import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';

/** Whether a project's live sending is stopped for its bounces or complaints. */
@Injectable()
export class SendingStops {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Why it is stopped; null when it is not. */
  reasonOf(scope: ProjectScope): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const stop = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.sending_stops')
        .select('reason')
        .where('environmentId', '=', scope.environmentId)
        .where('resumedAt', 'is', null)
        .executeTakeFirst();
      return stop?.reason ?? null;
    });
  }

  /**
   * Lets the project send again; its campaigns stay paused until their author resumes them. What came back until now is
   * not held against it any more. False when it was not stopped.
   */
  resume(scope: ProjectScope): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const { numUpdatedRows } = await this.database
        .tables<MessagingTables>()
        .updateTable('messaging.sending_stops')
        .set({ resumedAt: this.clock.now() })
        .where('environmentId', '=', scope.environmentId)
        .where('resumedAt', 'is', null)
        .executeTakeFirst();
      return numUpdatedRows === 1n;
    });
  }
}
