import { Inject, Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { UsageCatalogue, type UsedKind } from '#audience';
import type { ProjectScope } from '#kernel';
import { Database } from '#platform';

const COLUMNS: Record<UsedKind, string> = { topic: 'topic_ids', segment: 'segment_ids' };

/** Tells the audience which topics and segments must not be deleted: those that active automations refer to. */
@Injectable()
export class AutomationUsageQuery implements OnModuleInit {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(UsageCatalogue) private readonly usage: UsageCatalogue,
  ) {}

  onModuleInit(): void {
    for (const kind of ['topic', 'segment'] as const)
      this.usage.register(kind, 'an active automation', (scope, ids) => this.#used(scope, kind, ids));
  }

  /** By the version that people enter, or by one that still has active runs. */
  #used(scope: ProjectScope, kind: UsedKind, ids: readonly string[]): Promise<ReadonlySet<string>> {
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<{ id: string }>`
        select distinct used.id
        from messaging.automations a
        join messaging.automation_versions v on v.automation_id = a.id and v.environment_id = a.environment_id
        cross join unnest(v.${sql.ref(COLUMNS[kind])}) as used(id)
        where a.environment_id = ${scope.environmentId} and a.status = 'ACTIVE'
          and used.id = any(${[...ids]}::uuid[])
          and (v.id = a.version_id
            or exists (
              select 1 from messaging.automation_runs r
              where r.version_id = v.id and r.environment_id = v.environment_id and r.wake_at is not null
            ))
      `.execute(this.database.tables());
      return new Set(rows.map(({ id }) => id));
    });
  }
}
