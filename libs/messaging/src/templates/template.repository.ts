import { type FindOneOptions, LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { type Kysely, sql } from 'kysely';
import { newId, NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { auditedSettings, AuditTrail, Database, NEWEST_FIRST, unlessTaken } from '#platform';
import type { TemplateKind } from '../content/merge/template-variables.js';
import type { MessagingTables } from '../messaging-tables.js';
import {
  AliasTakenError,
  isTemplateKey,
  type NewTemplate,
  type ResolvedContent,
  Template,
  TEMPLATE_ALIAS,
  type TemplateContent,
  type TemplateVersion,
} from './template.js';
import { keysIn, type Part } from './template-parts.js';

const COLUMNS = [
  'id',
  'templateKey',
  'alias',
  'name',
  'kind',
  'metadata',
  'draftVersion',
  'publishedVersion',
  'createdAt',
  'updatedAt',
] as const;

/** A template as lists show it: without its content. */
export type TemplateRow = Pick<Template, (typeof COLUMNS)[number]>;

export interface TemplateFilter {
  readonly kind?: TemplateKind | undefined;
  readonly alias?: string | undefined;
}

/** A version as lists show it. */
export type TemplateVersionRow = Pick<TemplateVersion, 'id' | 'version' | 'createdAt'>;

/** A published template that uses another. */
export interface TemplateUser extends Part {
  readonly name: string;
  readonly version: number;
}

/** The most templates that one can depend on. */
const MOST_PARTS = 200;
/** Layout, partials inside each other, and one more: too deep. */
const DEPTH = 7;

function templatesOf(tables: Kysely<MessagingTables>, { environmentId }: ProjectScope) {
  return tables.selectFrom('messaging.templates').where('environmentId', '=', environmentId);
}

function versionsOf(tables: Kysely<MessagingTables>, { environmentId }: ProjectScope, templateId: string) {
  return tables
    .selectFrom('messaging.template_versions')
    .where('environmentId', '=', environmentId)
    .where('templateId', '=', templateId);
}

/** Reads and writes templates and their versions. Locks need an open transaction, and last as long as it does. */
@Injectable()
export class TemplateRepository {
  constructor(private readonly database: Database) {}

  async add({ environmentId }: ProjectScope, fields: NewTemplate, now: Date): Promise<Template> {
    const { rows } = await sql<{ key: string }>`select access.next_key('template') as key`.execute(
      this.database.tables(),
    );
    const identity = { id: newId(), environmentId, templateKey: rows[0]!.key, kind: fields.kind };
    const template = new Template(identity, fields, now);
    this.database.em.persist(template);
    return template;
  }

  /** Newest first. */
  list(
    scope: ProjectScope,
    request: PageRequest,
    { kind, alias }: TemplateFilter,
  ): Promise<Page<TemplateRow>> {
    return this.database.read(scope, { isList: true }, () => {
      const templates = templatesOf(this.database.tables(), scope)
        .$if(kind !== undefined, (query) => query.where('kind', '=', kind!))
        .$if(alias !== undefined, (query) => query.where('alias', '=', alias!));
      return NEWEST_FIRST.page(templates.select(COLUMNS), templates, request);
    });
  }

  /** The template of this key or alias. Throws NotFoundError. */
  named(scope: ProjectScope, keyOrAlias: string): Promise<Template> {
    return this.database.transaction(scope, () => this.#find(scope, keyOrAlias));
  }

  /** The template of this id; null: there is none. */
  withId(scope: ProjectScope, id: string): Promise<Template | null> {
    const { environmentId } = scope;
    return this.database.transaction(scope, () => this.database.em.findOne(Template, { environmentId, id }));
  }

  /** Kept from change by others. Throws NotFoundError. */
  lock(scope: ProjectScope, keyOrAlias: string): Promise<Template> {
    return this.#find(scope, keyOrAlias, { lockMode: LockMode.PESSIMISTIC_WRITE });
  }

  /** Nobody publishes or deletes a template of the environment until the transaction ends. */
  async lockPublished({ environmentId }: ProjectScope): Promise<void> {
    await sql`select pg_advisory_xact_lock(hashtextextended('templates ' || ${environmentId}::text, 0))`.execute(
      this.database.tables(),
    );
  }

  /** Writes what was changed. Throws AliasTakenError. */
  flush(): Promise<void> {
    // Keys are made by a sequence: nothing but an alias can be taken.
    return unlessTaken(this.database.em.flush(), () => new AliasTakenError());
  }

  /** Newest first. */
  versions(scope: ProjectScope, keyOrAlias: string, request: PageRequest): Promise<Page<TemplateVersionRow>> {
    return this.database.read(scope, { isList: true }, async () => {
      const tables = this.database.tables<MessagingTables>();
      const { id } = await this.#identified(tables, scope, keyOrAlias);
      const versions = versionsOf(tables, scope, id);
      return NEWEST_FIRST.page(versions.select(['id', 'version', 'createdAt']), versions, request);
    });
  }

  /** A version as it was written; null where there is none of this number. */
  async version(
    scope: ProjectScope,
    { id }: Pick<Template, 'id'>,
    version: number,
  ): Promise<TemplateVersion | null> {
    const row = await versionsOf(this.database.tables(), scope, id)
      .where('version', '=', version)
      .select(['id', 'version', 'content', 'createdAt'])
      .executeTakeFirst();
    if (row === undefined) return null;
    const { content, ...rest } = row;
    return { ...content, ...rest };
  }

  /** The content in use, as it was written; null where none is. */
  async published(scope: ProjectScope, { id, publishedVersion }: Template): Promise<TemplateContent | null> {
    if (publishedVersion === null) return null;
    const row = await versionsOf(this.database.tables(), scope, id)
      .where('version', '=', publishedVersion)
      .select('content')
      .executeTakeFirst();
    return row?.content ?? null;
  }

  async addVersion(
    { id: templateId, environmentId }: Template,
    { version, content }: { readonly version: number; readonly content: TemplateContent },
    createdAt: Date,
  ): Promise<void> {
    await this.database
      .tables<MessagingTables>()
      .insertInto('messaging.template_versions')
      .values({ id: newId(), environmentId, templateId, version, content: asJson(content), createdAt })
      .execute();
  }

  /** Adds content that mails can be made of, and returns its id. */
  async addContent(
    { environmentId }: ProjectScope,
    {
      templateId,
      version,
      content,
    }: { readonly templateId: string; readonly version: number; readonly content: ResolvedContent },
    createdAt: Date,
  ): Promise<string> {
    const id = newId();
    await this.database
      .tables<MessagingTables>()
      .insertInto('messaging.template_contents')
      .values({ id, environmentId, templateId, version, content: asJson(content), createdAt })
      .execute();
    return id;
  }

  /** Has another template use content that was put together anew. */
  async follow({ environmentId }: ProjectScope, id: string, contentId: string): Promise<void> {
    await this.database
      .tables<MessagingTables>()
      .updateTable('messaging.templates')
      .set({ contentId })
      .where('environmentId', '=', environmentId)
      .where('id', '=', id)
      .execute();
  }

  /** Notes the templates that this one names itself, in place of those before. */
  async setUses({ id, environmentId }: Template, usedIds: readonly string[]): Promise<void> {
    const tables = this.database.tables<MessagingTables>();
    await tables
      .deleteFrom('messaging.template_uses')
      .where('environmentId', '=', environmentId)
      .where('templateId', '=', id)
      .execute();
    if (usedIds.length === 0) return;
    await tables
      .insertInto('messaging.template_uses')
      .values(usedIds.map((usedId) => ({ environmentId, usedId, templateId: id })))
      .execute();
  }

  /**
   * The templates that content names, directly or not, by key: as they are published, else as they are drafted. `known` are taken
   * as they are given.
   */
  async partsOf(
    scope: ProjectScope,
    content: TemplateContent,
    known: ReadonlyMap<string, Part> = new Map(),
  ): Promise<ReadonlyMap<string, Part>> {
    const parts = new Map(known);
    const seen = new Set<string>();
    let wanted = keysIn(content);
    for (
      let depth = 0;
      depth < DEPTH && wanted.length > 0 && parts.size - known.size < MOST_PARTS;
      depth += 1
    ) {
      for (const key of wanted) seen.add(key);
      const missing = wanted.filter((key) => !parts.has(key));
      if (missing.length > 0)
        for (const part of await this.#parts(scope, missing)) parts.set(part.templateKey, part);
      wanted = [...new Set(wanted.flatMap((key) => keysIn(parts.get(key)?.content ?? NOTHING)))].filter(
        (key) => !seen.has(key),
      );
    }
    return parts;
  }

  async #parts({ environmentId }: ProjectScope, keys: readonly string[]): Promise<readonly Part[]> {
    const { rows } = await sql<Part>`
      select t.id, t.template_key, t.kind, t.published_version is not null as is_published, coalesce(v.content, t.draft) as content
      from messaging.templates t left join messaging.template_versions v
        on v.environment_id = ${environmentId} and v.template_id = t.id and v.version = t.published_version
      where t.environment_id = ${environmentId} and t.template_key = any(${keys}::text[])
    `.execute(this.database.tables());
    return rows;
  }

  /** The published templates that use one, directly or not, as they are in use. */
  async usersOf({ environmentId }: ProjectScope, templateId: string): Promise<readonly TemplateUser[]> {
    const { rows } = await sql<TemplateUser>`
      with recursive users (id) as (
        select u.template_id from messaging.template_uses u where u.environment_id = ${environmentId} and u.used_id = ${templateId}
        union
        select u.template_id from users join messaging.template_uses u on u.environment_id = ${environmentId} and u.used_id = users.id
      )
      select t.id, t.template_key, t.name, t.kind, true as is_published, v.version, v.content
      from messaging.templates t join messaging.template_versions v
        on v.environment_id = ${environmentId} and v.template_id = t.id and v.version = t.published_version
      where t.environment_id = ${environmentId} and t.id in (select id from users) order by t.created_at, t.id
    `.execute(this.database.tables());
    return rows;
  }

  /** Deletes it with its versions; content that mails were made of stays. */
  async remove(template: Template): Promise<void> {
    const { id, environmentId, templateKey, kind, name, alias, publishedVersion } = template;
    const ofTemplate = sql`where environment_id = ${environmentId} and template_id = ${id}`;
    await this.database.together(
      sql`delete from messaging.template_uses ${ofTemplate}`,
      sql`delete from messaging.template_versions ${ofTemplate}`,
      sql`delete from messaging.templates where environment_id = ${environmentId} and id = ${id}`,
    );
    AuditTrail.current?.changes(auditedSettings({ templateKey, kind, name, alias, publishedVersion }), null);
  }

  async #identified(tables: Kysely<MessagingTables>, scope: ProjectScope, keyOrAlias: string) {
    const column = columnOf(keyOrAlias);
    const found =
      column === null
        ? undefined
        : await templatesOf(tables, scope).where(column, '=', keyOrAlias).select('id').executeTakeFirst();
    if (found === undefined) throw new NotFoundError();
    return found;
  }

  async #find(
    { environmentId }: ProjectScope,
    keyOrAlias: string,
    options: FindOneOptions<Template> = {},
  ): Promise<Template> {
    const column = columnOf(keyOrAlias);
    const template =
      column === null
        ? null
        : await this.database.em.findOne(Template, { environmentId, [column]: keyOrAlias }, options);
    if (template === null) throw new NotFoundError();
    return template;
  }
}

/** Column that holds it; null for text that can be neither. */
export function columnOf(keyOrAlias: string): 'templateKey' | 'alias' | null {
  if (isTemplateKey(keyOrAlias)) return 'templateKey';
  return TEMPLATE_ALIAS.test(keyOrAlias) ? 'alias' : null;
}

const NOTHING: Pick<TemplateContent, 'contentJson' | 'layout' | 'translations'> = {
  contentJson: null,
  layout: null,
  translations: {},
};

const asJson = <Content>(content: Content) => sql<Content>`${JSON.stringify(content)}::jsonb`;
