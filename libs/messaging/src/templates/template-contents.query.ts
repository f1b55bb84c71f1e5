import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { LRUCache } from 'lru-cache';
import type { ProjectScope } from '#kernel';
import { Database, named } from '#platform';
import type { TemplateKind } from '../content/merge/template-variables.js';
import type { ResolvedContent } from './template.js';
import { columnOf } from './template.repository.js';

/** Content that mails can be made of. */
export interface UsableContent {
  readonly contentId: string;
  readonly templateId: string;
  readonly templateKey: string;
  readonly kind: TemplateKind;
  readonly version: number;
  readonly content: ResolvedContent;
}

/** Null for a template that is not published, and for a version that it does not have. */
type FoundContent = Omit<UsableContent, 'content' | 'contentId' | 'version'> & {
  readonly [Key in 'contentId' | 'version']: UsableContent[Key] | null;
};

/** A moment of a template, or of one of its versions. */
export interface TemplateMoment {
  readonly templateId: string;
  readonly version: number | null;
  readonly at: Date;
}

const MOST_VERSIONS = 2_147_483_647;
const KEPT = 200;
const KEPT_CHARACTERS = 16_000_000;

/** Finds content for mails: what is in use, what was, and what a mail refers to. */
@Injectable()
export class TemplateContentsQuery {
  /** Rows never change. */
  readonly #contents = new LRUCache<string, ResolvedContent>({
    max: KEPT,
    maxSize: KEPT_CHARACTERS,
    sizeCalculation: (content) => JSON.stringify(content).length,
  });

  constructor(private readonly database: Database) {}

  /**
   * The content in use of a template by its key or alias, or of a version: as it was when that was in use last. Null where there is
   * none, and of a PARTIAL.
   */
  async of(
    scope: ProjectScope,
    keyOrAlias: string,
    version: number | null = null,
  ): Promise<UsableContent | null> {
    const column = columnOf(keyOrAlias);
    if (column === null || (version ?? 0) > MOST_VERSIONS) return null;
    const { environmentId } = scope;
    const name = sql.ref(column === 'alias' ? 't.alias' : 't.template_key');
    const contentId =
      version === null
        ? sql`t.content_id`
        : sql`(select c.id from messaging.template_contents c
            where c.environment_id = ${environmentId} and c.template_id = t.id and c.version = ${version}
            order by c.created_at desc, c.id desc limit 1)`;
    const [found] = await this.database.statement(
      scope,
      sql<FoundContent>`${named(`template_by_${column === 'alias' ? 'alias' : 'key'}${version === null ? '' : '_of_version'}`)}
        select ${contentId} as content_id, t.id as template_id, t.template_key, t.kind,
          ${version === null ? sql`t.published_version` : sql`${version}::int`} as version
        from messaging.templates t where t.environment_id = ${environmentId} and ${name} = ${keyOrAlias}`,
    );
    if (found === undefined) return null;
    const { contentId: id, version: inUse, ...template } = found;
    const content = id === null ? null : await this.withId(scope, id);
    if (id === null || inUse === null || content === null) return null;
    return { ...template, contentId: id, version: inUse, content };
  }

  /**
   * Ids of the contents that were in use at moments, or that the version had then; of what is older than the template its first. Null
   * where there is none.
   */
  async inUseAt(
    scope: ProjectScope,
    moments: readonly TemplateMoment[],
  ): Promise<readonly (string | null)[]> {
    if (moments.length === 0) return [];
    const of = sql`select c.id from messaging.template_contents c
      where c.environment_id = ${scope.environmentId} and c.template_id = m.template_id and (m.version is null or c.version = m.version)`;
    const rows = await this.database.statement(
      scope,
      sql<{ contentId: string | null }>`${named('template_contents_in_use_at')}
        select coalesce(
          (${of} and c.created_at <= m.at order by c.created_at desc, c.id desc limit 1),
          (${of} order by c.created_at, c.id limit 1)
        ) as content_id
        from ${momentsTable(moments)} order by m.place`,
    );
    return rows.map(({ contentId }) => contentId);
  }

  /** Contents with merge tags of custom fields that were in use at any time since moments, or that the version had. */
  async withCustomFieldsSince(
    scope: ProjectScope,
    moments: readonly TemplateMoment[],
  ): Promise<readonly ResolvedContent[]> {
    const { environmentId } = scope;
    const contents = (c: string) => sql`messaging.template_contents ${sql.ref(c)}
      on ${sql.ref(c)}.environment_id = ${environmentId} and ${sql.ref(c)}.template_id = m.template_id
      and (m.version is null or ${sql.ref(c)}.version = m.version)`;
    const rows = await this.database.statement(
      scope,
      sql<{ content: ResolvedContent }>`
        select c.content from ${momentsTable(moments)} join ${contents('c')}
        left join ${contents('l')} and l.created_at > c.created_at and l.created_at <= m.at
        where l.id is null and c.content::text like '%custom%'`,
    );
    return rows.map(({ content }) => content);
  }

  /** Null where there is none. */
  async withId(scope: ProjectScope, contentId: string): Promise<ResolvedContent | null> {
    const { environmentId } = scope;
    const key = `${environmentId} ${contentId}`;
    const known = this.#contents.get(key);
    if (known !== undefined) return known;
    const [row] = await this.database.statement(
      scope,
      sql<{ content: ResolvedContent }>`${named('template_content_of_id')}
        select content from messaging.template_contents where environment_id = ${environmentId} and id = ${contentId}`,
    );
    if (row !== undefined) this.#contents.set(key, row.content);
    return row?.content ?? null;
  }
}

const momentsTable = (moments: readonly TemplateMoment[]) => sql`unnest(
  ${moments.map(({ templateId }) => templateId)}::uuid[], ${moments.map(({ version }) => version)}::int[],
  ${moments.map(({ at }) => at.toISOString())}::timestamptz[]
) with ordinality as m(template_id, version, at, place)`;
