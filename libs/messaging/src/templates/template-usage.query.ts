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
    return things.kind === 'template' ? this.#naming(scope, things) : [];
  }

  #naming(
    scope: ProjectScope,
    { id, templateKey }: Extract<UsedThings, { readonly kind: 'template' }>,
  ): Promise<readonly Use[]> {
    const { environmentId } = scope;
    return this.database.transaction(scope, async () => {
      const { rows } = await sql<Use>`
        select 'template' as kind, t.template_key as key, t.name, ${templateKey}::text as of from messaging.template_uses u
        join messaging.templates t on t.environment_id = ${environmentId} and t.id = u.template_id
        where u.environment_id = ${environmentId} and u.used_id = ${id} order by t.created_at, t.id
      `.execute(this.database.tables());
      return rows;
    });
  }
}
