import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope, PublishedEventType } from '#kernel';
import { Database } from '#platform';
import { numberEvents } from './event-sequence.repository.js';

/** An event that was published. */
export interface LoggedEvent {
  readonly id: string;
  readonly sequence: number;
  readonly type: PublishedEventType;
  readonly timestamp: Date;
  readonly subscriberId: string | null;
  readonly data: Readonly<Record<string, unknown>>;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface LogRequest {
  readonly page?: number | undefined;
  readonly size: number;
  /** The last number that was seen, instead of a page. */
  readonly after?: number | undefined;
  readonly type?: PublishedEventType | undefined;
  readonly subscriberId?: string | undefined;
}

/** Filtered events behind a number that are counted: whoever goes on page by page would count all the rest for each. */
const MOST_COUNTED = 1_000;

interface LogPage {
  readonly items: readonly LoggedEvent[];
  readonly totalElements: number;
  readonly hasNext: boolean;
}

/** Lists the events of an environment that an endpoint listened to, for as long as they are kept. */
@Injectable()
export class EventLogQuery {
  constructor(private readonly database: Database) {}

  /** The newest first; those after a number in their order: whoever goes on from the last that they saw misses none. */
  list(scope: ProjectScope, request: LogRequest): Promise<LogPage> {
    const { page = 0, size, after } = request;
    return this.database.transaction(scope, async () => {
      await numberEvents(this.database, scope.environmentId);
      const { rows } = await sql<LoggedEvent>`
        select e.id, e.sequence, e.type, e.occurred_at as timestamp, e.subscriber_id, coalesce(e.data, '{}') as data,
          e.occurred_at as created_at, e.occurred_at as updated_at
        from ${eventsOf(scope, request)} where e.sequence > ${after ?? 0}
        order by e.sequence ${sql.raw(after === undefined ? 'desc' : 'asc')}
        limit ${size + 1} offset ${after === undefined ? page * size : 0}
      `.execute(this.database.tables());
      const totalElements = await this.#total(scope, request);
      return { items: rows.slice(0, size), totalElements, hasNext: rows.length > size };
    });
  }

  async #total(scope: ProjectScope, request: LogRequest): Promise<number> {
    const isFiltered = request.type !== undefined || request.subscriberId !== undefined;
    const behind = sql`${eventsOf(scope, request)} where e.sequence > ${request.after ?? 0}`;
    // Numbers have no gaps: of all events, the total follows from the first and the last.
    const counted =
      request.after === undefined ? behind : sql`(select 1 from ${behind} limit ${MOST_COUNTED}) e`;
    const total = isFiltered
      ? sql`(select count(*) from ${counted})`
      : sql`coalesce((select e.sequence from ${behind} order by e.sequence desc limit 1)
          - (select e.sequence from ${behind} order by e.sequence limit 1) + 1, 0)`;
    const { rows } = await sql<{ total: number }>`select ${total} as total`.execute(this.database.tables());
    return rows[0]!.total;
  }
}

/** Numbered events `e`. */
function eventsOf({ environmentId }: ProjectScope, { type, subscriberId }: LogRequest) {
  const ofType = type === undefined ? sql`` : sql`and e.type = ${type}`;
  const ofPerson = subscriberId === undefined ? sql`` : sql`and e.subscriber_id = ${subscriberId}`;
  return sql`(
    select * from webhooks.events e where e.environment_id = ${environmentId} and e.sequence is not null ${ofType} ${ofPerson}
  ) e`;
}
