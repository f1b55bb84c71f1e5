import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { type FindUsed, UsageCatalogue, type UsedKind } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

const COLUMNS: Record<UsedKind, string> = { topic: 'topic_ids', segment: 'segment_ids' };

/** Keeps topics and segments of scheduled and sending campaigns from being deleted or turned off. */
@Injectable()
export class CampaignUsageQuery implements OnModuleInit {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
  ) {}

  onModuleInit(): void {
    for (const kind of ['topic', 'segment'] as const) {
      const used: FindUsed = (scope, ids) => this.#used(scope, kind, ids);
      this.usage.register(kind, 'a scheduled or sending campaign', used, { needsActive: true });
    }
  }

  #used(scope: ProjectScope, kind: UsedKind, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ id: string }>`
        select distinct used.id
        from messaging.campaigns c cross join unnest(c.${sql.ref(COLUMNS[kind])}) as used(id)
        where c.environment_id = ${scope.environmentId} and used.id = any(${[...ids]}::uuid[])
          and c.status in ('SCHEDULED', 'QUEUED_FOR_SENDING', 'SENDING', 'PAUSED')
      `.execute(this.database.tables());
      return new Set(rows.map(({ id }) => id));
    });
  }
}
