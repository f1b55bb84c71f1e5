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
    if (column === null) return null;
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
      sql<
        Omit<UsableContent, 'content'>
      >`${named(`template_by_${column === 'alias' ? 'alias' : 'key'}${version === null ? '' : '_of_version'}`)}
        select ${contentId} as "contentId", t.id as "templateId", t.template_key as "templateKey", t.kind,
          ${version === null ? sql`t.published_version` : sql`${version}::int`} as version
        from messaging.templates t where t.environment_id = ${environmentId} and ${name} = ${keyOrAlias}`,
    );
    if (found?.contentId == null) return null;
    const content = await this.withId(scope, found.contentId);
    return content && { ...found, content };
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
