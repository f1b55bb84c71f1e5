import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { AutomationState } from '../automation.js';
import type { ResolvedAutomation } from './automation-checks.service.js';

/** What automations do, as they were activated. A version is never changed. */
@Injectable()
export class AutomationVersions {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** A new version of what the author has written; resolves to its id. Its automation is locked by the caller. */
  add(scope: ProjectScope, state: AutomationState, resolved: ResolvedAutomation, at: Date): Promise<number> {
    const { mailTopicIds, topicIds, segmentIds } = resolved;
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<{ id: number }>`
        insert into messaging.automation_versions (environment_id, automation_id, version, trigger_type, trigger_topic_id,
          nodes, edges, mail_topic_ids, topic_ids, segment_ids, created_at)
        select ${scope.environmentId}, ${state.id},
          (select coalesce(max(version), 0) + 1 from messaging.automation_versions where automation_id = ${state.id}),
          ${state.triggerType}, ${state.triggerTopicId}, ${state.nodes}, ${state.edges}, ${[...mailTopicIds]}::uuid[],
          ${[...topicIds]}::uuid[], ${[...segmentIds]}::uuid[], ${at}
        returning id
      `.execute(db);
      return rows[0]!.id;
    });
  }
}
