import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { type Project, ProjectsQuery } from '#access';
import {
  Clock,
  DomainError,
  DomainValidationError,
  InUseError,
  isUuid,
  newId,
  NotFoundError,
  type Page,
  type PageRequest,
  pageOfRows,
  type Place,
  type ProjectScope,
  type ResourceUser,
  UnavailableError,
} from '#kernel';
import {
  AuditTrail,
  before,
  type Config,
  CONFIG,
  Database,
  describeError,
  drainEnvironments,
  limitOf,
  ListOrder,
  LOGGER,
  neverJoined,
  Periodic,
  totalOf,
} from '#platform';
import { ContentCompileError, ContentTooComplexError } from '../content/content.errors.js';
import { type ImageType, imageTypeOf } from '../content/processes/image-type.js';
import { ContentProcessesService } from '../content/processes/content-processes.service.js';
import { MediaFilesService } from './media-files.service.js';
import {
  MEDIA_PATH,
  mediaFileName,
  mediaNamesIn,
  parseMediaFileName,
  type MediaView,
  newMediaName,
  SHOWN_DAYS,
} from './media.js';

/** An upload. */
export interface NewMedia {
  /** As the client calls it. */
  readonly contentType: string;
  readonly filename: string | null;
  readonly content: Buffer;
}

type MediaRow = Omit<MediaView, 'url' | 'usedBy' | 'usedByCount'> & { readonly name: string };

interface UsedRow extends MediaRow {
  /** The first of them. */
  readonly usedBy: readonly ResourceUser[] | null;
  readonly usedByCount: number;
}

const DAY_MS = 86_400_000;
const MB = 1_024 * 1_024;
/** Longer than an upload takes. */
const ABANDONED_AFTER_MS = 60 * 60_000;
/** Longer than a narrower image takes to be made, that was begun before its original was deleted. */
const REMOVED_AGAIN_AFTER_MS = 10 * 60_000;
/** Uploads of an environment that one process holds in memory. */
const MOST_AT_ONCE = 8;
const NAMED_USERS = 10;

const IN_ORDER = new ListOrder([
  ['m.created_at', 'timestamptz'],
  ['m.id', 'uuid'],
]);

/** No content names the image any more, but mails may show it that are not a year old. */
export class ShownInMailsError extends DomainError {
  override readonly code = 'in-use';

  constructor(shownOn: string) {
    super(
      `A mail of ${shownOn} may show the image: it can be deleted ${SHOWN_DAYS} days later, or at once with \`force=true\`.`,
    );
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { usedBy: [], usedByCount: 0 };
  }
}

/** Images that mails show. Their rows are written behind their bytes, so that none is without. */
@Injectable()
export class MediaService {
  readonly #uploading = new Map<number, number>();

  constructor(
    private readonly database: Database,
    private readonly files: MediaFilesService,
    private readonly processes: ContentProcessesService,
    private readonly projects: ProjectsQuery,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Pick<Config, 'MEDIA_QUOTA_MB' | 'PUBLIC_URL'>,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Runs `upload`, which holds an image in memory. Throws UnavailableError when too many of the environment are under way. */
  async admitted<T>({ environmentId }: ProjectScope, upload: () => Promise<T>): Promise<T> {
    const running = this.#uploading.get(environmentId) ?? 0;
    if (running >= MOST_AT_ONCE) throw new UnavailableError('Too many images are being uploaded.', 1);
    this.#uploading.set(environmentId, running + 1);
    try {
      return await upload();
    } finally {
      const left = this.#uploading.get(environmentId)! - 1;
      if (left === 0) this.#uploading.delete(environmentId);
      else this.#uploading.set(environmentId, left);
    }
  }

  /** Stores an image: upright, without metadata. Throws DomainValidationError, UnavailableError. */
  async add(scope: ProjectScope, { contentType, filename, content }: NewMedia): Promise<MediaView> {
    refuseOtherType(contentType, content);
    await this.#refuseFull(scope, content.length);
    const image = await this.#decoded(scope, content);
    const { environmentId } = scope;
    const name = newMediaName(environmentId);
    const now = this.clock.now();
    const abandonedAt = before(now, -ABANDONED_AFTER_MS);
    // An image that is being written from now on is removed, unless its row is there by then.
    await this.database.write(
      scope,
      sql`insert into messaging.media_removals (environment_id, name, due_at) values (${environmentId}, ${name}, ${abandonedAt})`,
    );
    await this.files.write(
      { environmentId, name, contentType: image.contentType },
      'original',
      image.content,
    );
    const row: MediaRow = {
      id: newId(),
      name,
      filename,
      contentType: image.contentType,
      width: image.width,
      height: image.height,
      bytes: image.content.byteLength,
      lastShownOn: null,
      createdAt: now,
      updatedAt: now,
    };
    await this.#insert(scope, row);
    return this.#view({ ...row, usedBy: null, usedByCount: 0 }, null);
  }

  /** Throws NotFoundError. */
  async get(scope: ProjectScope, id: string): Promise<MediaView> {
    const project = await this.projects.ofScope(scope);
    return this.database.read(scope, {}, async () => {
      const row = await this.#find(scope, id);
      return this.#view(row, project);
    });
  }

  /** Newest first. */
  async list(scope: ProjectScope, request: PageRequest): Promise<Page<MediaView>> {
    const { environmentId } = scope;
    const project = await this.projects.ofScope(scope);
    return this.database.read(scope, { isList: true }, async () => {
      const tables = this.database.tables();
      const { rows } = await sql<UsedRow & { readonly place: Place }>`
        with page as materialized (
          select m.id, ${IN_ORDER.place} as place from messaging.media m
          where m.environment_id = ${environmentId} and ${IN_ORDER.isBehind(request)} order by ${IN_ORDER.by} ${limitOf(request)}
        )
        select m.*, page.place from page cross join lateral (
          select ${MEDIA_COLUMNS}, ${usersOf(environmentId)}
          from messaging.media m where m.environment_id = ${environmentId} and m.id = page.id ${neverJoined}
        ) m order by m.created_at desc, m.id desc
      `.execute(tables);
      const counted = await sql<{ total: number }>`
        select ${totalOf(request, sql`(select count(*) from messaging.media m where m.environment_id = ${environmentId})`)} as total
      `.execute(tables);
      const page = pageOfRows<UsedRow>(rows, request, counted.rows[0]!.total);
      return { ...page, items: page.items.map((row) => this.#view(row, project)) };
    });
  }

  /** The octets and type of an image, for a mail that takes it along. Throws NotFoundError, UnavailableError. */
  async read(
    scope: ProjectScope,
    id: string,
  ): Promise<Pick<MediaView, 'contentType' | 'filename'> & { content: Buffer }> {
    const { name, contentType, filename } = await this.database.read(scope, {}, () => this.#find(scope, id));
    const content = await this.files.read({ environmentId: scope.environmentId, name });
    if (content === null) throw new NotFoundError('The bytes of the image are not there any more.');
    return { contentType, filename, content };
  }

  /** Deletes an image; `force` also one in use. Throws NotFoundError, InUseError, ShownInMailsError. */
  async remove(scope: ProjectScope, id: string, { force }: { readonly force: boolean }): Promise<void> {
    const { environmentId } = scope;
    const project = await this.projects.ofScope(scope);
    const now = this.clock.now();
    const name = await this.database.transaction(scope, async () => {
      if (!isUuid(id)) throw new NotFoundError();
      const tables = this.database.tables();
      // Content that names it is not written meanwhile.
      await sql`
        select 1 from messaging.media m where m.environment_id = ${environmentId} and m.id = ${id} for update
      `.execute(tables);
      const row = await this.#find(scope, id);
      if (!force) refuseUsed(this.#view(row, project), now);
      await sql`delete from messaging.media where environment_id = ${environmentId} and id = ${id}`.execute(
        tables,
      );
      await sql`
        update messaging.media_usage set bytes = bytes - ${row.bytes} where environment_id = ${environmentId}
      `.execute(tables);
      const again = before(now, -REMOVED_AGAIN_AFTER_MS);
      await sql`
        insert into messaging.media_removals (environment_id, name, due_at) values (${environmentId}, ${row.name}, ${again})
      `.execute(tables);
      return row.name;
    });
    // At once, where it can be; in any case again later, by what was written.
    await this.files
      .remove(environmentId, name)
      .catch((error: unknown) =>
        this.logger.warn(
          { name, error: describeError(error) },
          'files of a deleted image stay for ten minutes',
        ),
      );
  }

  /** Remembers in the open transaction that mails show the images whose names stand in `texts`, until a day. */
  async noteShown({ environmentId }: ProjectScope, texts: readonly string[], until: Date): Promise<void> {
    const names = [...new Set(texts.flatMap(mediaNamesIn))];
    if (names.length === 0) return;
    const day = dayOf(until);
    await sql`
      update messaging.media set shown_on = ${day}::date
      where environment_id = ${environmentId} and name = any(${names}) and (shown_on is null or shown_on < ${day}::date)
    `.execute(this.database.tables());
  }

  /** Finds the URLs that name an image of this environment by its file where there is none any more, or never was. */
  async gone(scope: ProjectScope, urls: readonly string[]): Promise<string[]> {
    const named = urls.flatMap((url) => {
      const media = parseMediaFileName(/\/([^/?#]+)(?:[?#].*)?$/.exec(url)?.[1] ?? '');
      return media?.environmentId === scope.environmentId ? [{ url, name: media.name }] : [];
    });
    if (named.length === 0) return [];
    const names = named.map(({ name }) => name);
    const { rows } = await this.database.transaction(scope, () =>
      sql<{ name: string }>`
        select name from messaging.media where environment_id = ${scope.environmentId} and name = any(${names})
      `.execute(this.database.tables()),
    );
    const there = new Set(rows.map(({ name }) => name));
    return named.flatMap(({ url, name }) => (there.has(name) ? [] : [url]));
  }

  /** Removes files of deleted images, and those of uploads that never ended. */
  @Periodic('remove-media-files', { everyMs: 60_000 })
  async removeFiles(): Promise<void> {
    const now = this.clock.now();
    const rows = sql`messaging.media_removals where due_at <= ${now}`;
    await drainEnvironments(this.database, { rows, batch: 50 }, async (environmentId, most) => {
      const due = await sql<{ name: string }>`
        delete from messaging.media_removals where environment_id = ${environmentId} and due_at <= ${now} and name = any(array(
          select name from messaging.media_removals where environment_id = ${environmentId} and due_at <= ${now} limit ${most}
        )) returning name
      `.execute(this.database.tables());
      for (const { name } of due.rows) await this.files.remove(environmentId, name);
      return due.rows.length;
    });
  }

  async #decoded(scope: ProjectScope, content: Buffer) {
    try {
      return await this.processes.image(scope, { content });
    } catch (error) {
      if (error instanceof ContentTooComplexError)
        throw new DomainValidationError({ body: 'takes too much time or memory to be decoded' });
      if (error instanceof ContentCompileError) throw new DomainValidationError({ body: error.message });
      throw error;
    }
  }

  /** Looks before an image is decoded; the insert counts exactly. */
  async #refuseFull(scope: ProjectScope, bytes: number): Promise<void> {
    const [usage] = await this.database.statement(
      scope,
      sql<{
        bytes: number;
      }>`select bytes from messaging.media_usage where environment_id = ${scope.environmentId}`,
    );
    if ((usage?.bytes ?? 0) + bytes > this.#quota) throw this.#full();
  }

  async #insert(scope: ProjectScope, row: MediaRow): Promise<void> {
    const { environmentId } = scope;
    await this.database.transaction(scope, async () => {
      const tables = this.database.tables();
      const counted = await sql`
        insert into messaging.media_usage as u (environment_id, bytes) values (${environmentId}, ${row.bytes})
        on conflict (environment_id) do update set bytes = u.bytes + excluded.bytes
        where u.bytes + excluded.bytes <= ${this.#quota} returning 1
      `.execute(tables);
      if (counted.rows.length === 0 || row.bytes > this.#quota) throw this.#full();
      AuditTrail.current?.made(row.id);
      const { rows } = await sql`
        delete from messaging.media_removals where environment_id = ${environmentId} and name = ${row.name} returning 1
      `.execute(tables);
      if (rows.length === 0) throw new UnavailableError('The image took too long to be stored.', 1);
      await sql`
        insert into messaging.media (id, environment_id, name, filename, content_type, width, height, bytes, created_at, updated_at)
        values (${row.id}, ${environmentId}, ${row.name}, ${row.filename}, ${row.contentType}, ${row.width}, ${row.height},
          ${row.bytes}, ${row.createdAt}, ${row.updatedAt})
      `.execute(tables);
    });
  }

  get #quota(): number {
    return this.config.MEDIA_QUOTA_MB * MB;
  }

  #full(): DomainValidationError {
    return new DomainValidationError({
      body: `does not fit: the quota of ${this.config.MEDIA_QUOTA_MB} MB of images is used up`,
    });
  }

  async #find({ environmentId }: ProjectScope, id: string): Promise<UsedRow> {
    if (!isUuid(id)) throw new NotFoundError();
    const { rows } = await sql<UsedRow>`
      select ${MEDIA_COLUMNS}, ${usersOf(environmentId)}
      from messaging.media m where m.environment_id = ${environmentId} and m.id = ${id}
    `.execute(this.database.tables());
    if (rows[0] === undefined) throw new NotFoundError();
    return rows[0];
  }

  #view({ name, usedBy, usedByCount, ...row }: UsedRow, project: Project | null): MediaView {
    const isLogo = project?.logoUrl?.includes(name) === true;
    const users: readonly ResourceUser[] = [
      ...(isLogo ? [{ kind: 'project' as const, key: project.projectKey, name: project.name }] : []),
      ...(usedBy ?? []),
    ];
    const url = `${this.config.PUBLIC_URL}/${MEDIA_PATH}/${mediaFileName(name, row.contentType)}`;
    const count = usedByCount + (isLogo ? 1 : 0);
    return { ...row, url, usedBy: users.slice(0, NAMED_USERS), usedByCount: count };
  }
}

const MEDIA_COLUMNS = sql`m.id, m.name, m.filename, m.content_type, m.width, m.height, m.bytes, m.created_at, m.updated_at,
  to_char(m.shown_on, 'YYYY-MM-DD') as last_shown_on`;

/** Columns `used_by`, the first users of each kind, and `used_by_count` of the image `m`. */
const usersOf = (environmentId: number) => sql`(
    select json_agg(json_build_object('kind', x.kind, 'key', x.key, 'name', x.name)) from (
      select 'campaign' as kind, c.campaign_key as key, c.name from (
        select distinct u.user_id from messaging.media_uses u
        where u.environment_id = ${environmentId} and u.media_id = m.id and u.kind = 'campaign' order by u.user_id limit ${NAMED_USERS}
      ) u cross join lateral (
        select c.campaign_key, c.name from messaging.campaigns c where c.environment_id = ${environmentId} and c.id = u.user_id ${neverJoined}
      ) c
      union all
      select 'automation', a.automation_key, a.name from (
        select distinct u.user_id from messaging.media_uses u
        where u.environment_id = ${environmentId} and u.media_id = m.id and u.kind in ('automation', 'automation-version')
        order by u.user_id limit ${NAMED_USERS}
      ) u cross join lateral (
        select a.automation_key, a.name from messaging.automations a where a.environment_id = ${environmentId} and a.id = u.user_id ${neverJoined}
      ) a
      union all
      select 'template', t.template_key, t.name from (
        select distinct coalesce(v.template_id, u.user_id) as id from messaging.media_uses u
        left join messaging.template_versions v on v.environment_id = ${environmentId} and v.id = u.user_id
        where u.environment_id = ${environmentId} and u.media_id = m.id and u.kind in ('template', 'template-version')
        order by id limit ${NAMED_USERS}
      ) u cross join lateral (
        select t.template_key, t.name from messaging.templates t where t.environment_id = ${environmentId} and t.id = u.id ${neverJoined}
      ) t
    ) x
  ) as used_by, (
    select count(distinct coalesce(v.template_id, u.user_id)) from messaging.media_uses u
    left join messaging.template_versions v on v.environment_id = ${environmentId} and v.id = u.user_id and u.kind = 'template-version'
    where u.environment_id = ${environmentId} and u.media_id = m.id
  ) as used_by_count`;

/** A type that the bytes do not have is a mistake of the client, or worse. */
function refuseOtherType(declared: string, content: Buffer): void {
  const actual: ImageType | null = imageTypeOf(content);
  if (actual === null) throw new DomainValidationError({ body: 'is no PNG, JPEG, GIF or WebP image' });
  if (actual !== declared)
    throw new DomainValidationError({ body: `is ${actual} by its bytes, and not ${declared}` });
}

function refuseUsed({ usedBy, usedByCount, lastShownOn }: MediaView, now: Date): void {
  if (usedByCount > 0) throw new InUseError('The image', usedBy, usedByCount);
  if (lastShownOn !== null && lastShownOn > dayOf(before(now, SHOWN_DAYS * DAY_MS)))
    throw new ShownInMailsError(lastShownOn);
}

const dayOf = (time: Date): string => time.toISOString().slice(0, 10);
