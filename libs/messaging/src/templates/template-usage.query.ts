import { Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { type Use, UsageCatalogueService, type UsedThings, type UserSource } from '#audience';
import type { ProjectScope, UserKind } from '#kernel';
import { Database } from '#platform';

/** Published templates as users of others: see `USES`. */
@Injectable()
export class TemplateUsageQuery implements UserSource, OnModuleInit {
  readonly users: UserKind = 'template';

  constructor(
    private readonly database: Database,
    private readonly usage: UsageCatalogueService,
  ) {}

  onModuleInit(): void {
    this.usage.register(this);
  }

  async usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    return things.kind === 'template' ? this.#naming(scope, things.templateKey) : [];
  }

  #naming(scope: ProjectScope, templateKey: string): Promise<readonly Use[]> {
    const { environmentId } = scope;
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Use>`
        select 'template' as kind, t.template_key as key, t.name, ${templateKey} as of
        from messaging.templates used
        join messaging.template_uses u on u.environment_id = ${environmentId} and u.used_id = used.id
        join messaging.templates t on t.environment_id = ${environmentId} and t.id = u.template_id
        where used.environment_id = ${environmentId} and used.template_key = ${templateKey} order by t.created_at, t.id
      `.execute(this.database.tables());
      return rows;
    });
  }
}
