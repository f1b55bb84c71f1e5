import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { auditedSettings, AuditTrail, Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';

/** Stops of a project's live campaigns and of its live messages, for their bounces or complaints. */
@Injectable()
export class SendingStopsService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The reason why its campaigns are stopped; null when they are not. */
  reasonOf(scope: ProjectScope): Promise<string | null> {
    return this.database.transaction(scope, async () => {
      const stop = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.sending_stops')
        .select('reason')
        .where('environmentId', '=', scope.environmentId)
        .where('stream', '=', 'MARKETING')
        .where('resumedAt', 'is', null)
        .executeTakeFirst();
      return stop?.reason ?? null;
    });
  }

  /**
   * Ends the stops; campaigns stay paused until their author resumes them. Bounces and complaints until now no longer count.
   * False when sending was not stopped.
   */
  resume(scope: ProjectScope): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const ended = await this.database
        .tables<MessagingTables>()
        .updateTable('messaging.sending_stops')
        .set({ resumedAt: this.clock.now() })
        .where('environmentId', '=', scope.environmentId)
        .where('resumedAt', 'is', null)
        .returning(['stream', 'reason'])
        .execute();
      const stopped = Object.fromEntries(ended.map(({ stream, reason }) => [stream, reason]));
      AuditTrail.current?.changes(auditedSettings({ stopped }), { stopped: {} });
      return ended.length > 0;
    });
  }
}
