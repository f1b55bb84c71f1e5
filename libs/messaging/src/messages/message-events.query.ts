import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  isUuid,
  NotFoundError,
  offsetOf,
  type Page,
  type PageRequest,
  pageOfRows,
  type Place,
  type ProjectScope,
} from '#kernel';
import { Database, limitOf, ListOrder, totalOf } from '#platform';

export const MESSAGE_EVENT_TYPES = [
  'QUEUED',
  'ATTEMPTED',
  'SENT',
  'DELIVERED',
  'BOUNCED',
  'COMPLAINED',
  'OPENED',
  'CLICKED',
  'FAILED',
  'EXPIRED',
  'SUPPRESSED',
  'CANCELLED',
] as const;
export type MessageEventType = (typeof MESSAGE_EVENT_TYPES)[number];

/** Something that became of a message's mail to `to`. */
export interface MessageEvent {
  readonly id: string;
  readonly type: MessageEventType;
  readonly timestamp: Date;
  /** Reply of the mail server to an attempt, or why there was none. */
  readonly reply: string | null;
  /** Class of a BOUNCED one. */
  readonly bounceClass: string | null;
  /** Reason for which nothing was sent. */
  readonly reason: string | null;
  readonly relayKey: string | null;
  /** Address of the link that was clicked. */
  readonly url: string | null;
  readonly linkNumber: number | null;
  /** The kind of program that opened the mail, or followed the link. */
  readonly agent: string | null;
}

const OLDEST_FIRST = new ListOrder(
  [
    ['timestamp', 'timestamptz'],
    ['id', 'uuid'],
  ],
  'asc',
);

const EVENTS_IN_ORDER = new ListOrder(
  [
    ['e.occurred_at', 'timestamptz'],
    ['e.id', 'uuid'],
  ],
  'asc',
);

/** Lists what became of a message. */
@Injectable()
export class MessageEventsQuery {
  constructor(private readonly database: Database) {}

  /** Oldest first; opens and clicks of people alone. Throws NotFoundError. */
  async page(scope: ProjectScope, messageId: string, request: PageRequest): Promise<Page<MessageEvent>> {
    if (!isUuid(messageId)) throw new NotFoundError();
    const { environmentId } = scope;
    const queued = sql`
      select m.id, 'QUEUED' as type, m.created_at as timestamp, null as reply, null as bounce_class, null as reason,
        null as relay_key, null as url, null::int as link_number, null as agent
      from messaging.messages m where m.environment_id = ${environmentId} and m.id = ${messageId}
    `;
    const isOfMessage = sql`e.environment_id = ${environmentId} and e.message_id = ${messageId} and e.classification = 'human'`;
    // As many as the page may need, from the index's own order: before the first statistics all would be sorted.
    const later = sql`
      select e.id, e.type, e.occurred_at, e.reply, case when e.type = 'BOUNCED' then e.reason end,
        case when e.type <> 'BOUNCED' then e.reason end, e.relay_key, e.url, e.link_number, e.agent
      from messaging.message_events e where ${isOfMessage} and ${EVENTS_IN_ORDER.isBehind(request)}
      order by ${EVENTS_IN_ORDER.by} limit ${offsetOf(request) + request.size + 1}
    `;
    return this.database.read(scope, { isList: true }, async () => {
      const { rows } = await sql<MessageEvent & { readonly place: Place }>`
        select e.*, ${OLDEST_FIRST.place} as place from (${queued} union all (${later})) e where ${OLDEST_FIRST.isBehind(request)}
        order by ${OLDEST_FIRST.by} ${limitOf(request)}
      `.execute(this.database.tables());
      const counted = await sql<{ total: number; isThere: boolean }>`
        select ${totalOf(request, sql`(select 1 + count(*) from messaging.message_events e where ${isOfMessage})`)} as total, exists (
          select 1 from messaging.messages m where m.environment_id = ${environmentId} and m.id = ${messageId}
        ) as is_there
      `.execute(this.database.tables());
      if (counted.rows[0]?.isThere !== true) throw new NotFoundError();
      return pageOfRows<MessageEvent>(rows, request, counted.rows[0].total);
    });
  }
}
