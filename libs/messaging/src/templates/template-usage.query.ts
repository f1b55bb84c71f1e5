import { Injectable, type OnModuleInit } from '@nestjs/common';
import { sql } from 'kysely';
import { type Use, UsageCatalogueService, type UsedThings, type UserSource } from '#audience';
import type { ProjectScope, UserKind } from '#kernel';
import { Database } from '#platform';
import { ContentProcessesService } from '../content/processes/content-processes.service.js';
import type { ResolvedContent } from './template.js';

/** Published templates as users of others: see `USES`. */
@Injectable()
export class TemplateUsageQuery implements UserSource, OnModuleInit {
  readonly users: UserKind = 'template';

  constructor(
    private readonly database: Database,
    private readonly usage: UsageCatalogueService,
    private readonly processes: ContentProcessesService,
  ) {}

  onModuleInit(): void {
    this.usage.register(this);
  }

  async usesOf(scope: ProjectScope, things: UsedThings): Promise<readonly Use[]> {
    switch (things.kind) {
      case 'template':
        return this.#naming(scope, things);
      case 'custom field':
      case 'default of a custom field':
        return this.#showing(scope, things.key);
      case 'topic':
      case 'segment':
      case 'option':
      case 'sending domain':
        return [];
    }
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

  /** Published templates with merge tags that show a custom field. */
  async #showing(scope: ProjectScope, key: string): Promise<readonly Use[]> {
    const { environmentId } = scope;
    const templates = await this.database.statement(
      scope,
      sql<{ key: string; name: string; content: ResolvedContent }>`
        select t.template_key as key, t.name, c.content from messaging.templates t
        join messaging.template_contents c on c.environment_id = ${environmentId} and c.id = t.content_id
        where t.environment_id = ${environmentId} and c.content::text like '%custom%' order by t.created_at, t.id`,
    );
    const uses: Use[] = [];
    for (const { key: templateKey, name, content } of templates) {
      const { translations, ...own } = content;
      const contents = [own, ...Object.values(translations)];
      const named = await this.processes.customKeys(scope, {
        texts: [contents.map(({ contentJson: _json, ...texts }) => texts)],
        documents: contents.flatMap(({ contentJson }) => contentJson ?? []),
      });
      if (named.includes(key)) uses.push({ kind: 'template', key: templateKey, name, of: key });
    }
    return uses;
  }
}
