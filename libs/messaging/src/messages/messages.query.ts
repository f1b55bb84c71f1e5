import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { AddressDigestsService } from '#audience';
import {
  Clock,
  isUuid,
  NotFoundError,
  type Page,
  type PageRequest,
  pageOfRows,
  type Place,
  type ProjectScope,
} from '#kernel';
import { Database, limitOf, ListOrder, neverJoined, totalOf } from '#platform';
import { isTemplateKey } from '../templates/template.js';
import type { MessageFilter, MessageStatus, MessageView } from './message.js';

const newestFirst = (time: string, id: string) => ({
  order: new ListOrder([
    [time, 'timestamptz'],
    [id, 'uuid'],
  ]),
  id: sql.ref(id),
});
const IN_ORDER = newestFirst('m.created_at', 'm.id');
const BY_TAG = newestFirst('t.created_at', 't.message_id');

/** Reads messages as answers show them. */
@Injectable()
export class MessagesQuery {
  constructor(
    private readonly database: Database,
    private readonly digests: AddressDigestsService,
    private readonly clock: Clock,
  ) {}

  async get(scope: ProjectScope, id: string): Promise<MessageView> {
    if (!isUuid(id)) throw new NotFoundError();
    return this.database.read(scope, {}, async () => {
      const { rows } = await sql<MessageView>`
        select ${MESSAGE_COLUMNS} from messaging.messages m where m.environment_id = ${scope.environmentId} and m.id = ${id}
      `.execute(this.database.tables());
      if (rows[0] === undefined) throw new NotFoundError();
      return messageViewOf(rows[0], this.clock.now());
    });
  }

  /** Newest first. */
  async list(scope: ProjectScope, request: PageRequest, filter: MessageFilter): Promise<Page<MessageView>> {
    const now = this.clock.now();
    const found = this.#matching(scope, filter, now);
    const { order, id } = filter.tag === undefined ? IN_ORDER : BY_TAG;
    return this.database.read(scope, { isList: true }, async () => {
      const tables = this.database.tables();
      const { rows } = await sql<MessageView & { readonly place: Place }>`
        with page as materialized (
          select ${id} as id, ${order.place} as place from ${found} and ${order.isBehind(request)}
          order by ${order.by} ${limitOf(request)}
        )
        select m.*, page.place from page cross join lateral (
          select ${MESSAGE_COLUMNS} from messaging.messages m where m.environment_id = ${scope.environmentId} and m.id = page.id ${neverJoined}
        ) m order by m.created_at desc, m.id desc
      `.execute(tables);
      const counted = await sql<{ total: number }>`
        select ${totalOf(request, sql`(select count(*) from ${found})`)} as total
      `.execute(tables);
      const page = pageOfRows<MessageView>(rows, request, counted.rows[0]!.total);
      return { ...page, items: page.items.map((message) => messageViewOf(message, now)) };
    });
  }

  /** FROM and WHERE of the messages `m`, found by their tag where one is asked for: few of many may have it. */
  #matching(
    scope: ProjectScope,
    { toKey, status, tag, templateKey, createdAfter }: MessageFilter,
    now: Date,
  ): RawBuilder<unknown> {
    const { environmentId } = scope;
    const conditions = [
      ...(toKey === undefined ? [] : [sql`m.to_digest = ${this.digests.of(scope, toKey)}`]),
      ...(status === undefined ? [] : [hasStatus(status, now)]),
      ...(templateKey === undefined ? [] : [hasTemplate(environmentId, templateKey)]),
      ...(createdAfter === undefined ? [] : [sql`m.created_at > ${createdAfter}`]),
    ];
    const and = sql.join([sql`true`, ...conditions], sql` and `);
    if (tag === undefined)
      return sql`messaging.messages m where m.environment_id = ${environmentId} and ${and}`;
    const tagged = sql`messaging.message_tags t where t.environment_id = ${environmentId} and t.tag = ${tag}`;
    if (conditions.length === 0) return sql`${tagged}`;
    return sql`messaging.message_tags t cross join lateral (
        select * from messaging.messages m where m.environment_id = ${environmentId} and m.id = t.message_id ${neverJoined}
      ) m where t.environment_id = ${environmentId} and t.tag = ${tag} and ${and}`;
  }
}

export const MESSAGE_COLUMNS = sql`m.id, m.to_email as to, m.subject, m.status, m.purpose, m.topic_key,
  m.template_key, m.template_version, m.tags, m.metadata, m.locale, m.keep,
  json_build_object('opens', m.track_opens, 'clicks', m.track_clicks) as track, m.relay_key, m.failure_reason, m.scheduled_at, m.expires_at, m.sent_at, m.delivered_at, m.created_at, m.updated_at`;

/** The row as answers show it: a scheduled message whose time has come is queued, without anybody's doing. */
export function messageViewOf<Row extends MessageView>(row: Row, now: Date): Row {
  const isDue = row.status === 'SCHEDULED' && row.scheduledAt !== null && row.scheduledAt <= now;
  return isDue ? { ...row, status: 'QUEUED' } : row;
}

function hasTemplate(environmentId: number, keyOrAlias: string): RawBuilder<unknown> {
  return isTemplateKey(keyOrAlias)
    ? sql`m.template_key = ${keyOrAlias}`
    : sql`m.template_key = (
        select t.template_key from messaging.templates t where t.environment_id = ${environmentId} and t.alias = ${keyOrAlias}
      )`;
}

function hasStatus(status: MessageStatus, now: Date): RawBuilder<unknown> {
  if (status === 'SCHEDULED') return sql`m.status = 'SCHEDULED' and m.scheduled_at > ${now}`;
  if (status === 'QUEUED')
    return sql`(m.status = 'QUEUED' or m.status = 'SCHEDULED' and m.scheduled_at <= ${now})`;
  return sql`m.status = ${status}`;
}
