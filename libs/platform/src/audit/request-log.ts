import { Inject, Injectable } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import {
  Clock,
  newId,
  type Page,
  pageOfRows,
  type PageRequest,
  type Place,
  type ProjectScope,
} from '#kernel';
import { Database } from '../database/database.js';
import { limitOf, ListOrder, totalOf } from '../database/list-order.js';
import { named } from '../database/statement.js';
import { describeError } from '../logger.js';
import { LOGGER } from '../platform.module.js';

/** A request that a key made. */
interface LoggedRequest {
  readonly id: string;
  readonly answeredAt: Date;
  readonly method: string;
  readonly route: string | null;
  readonly status: number;
  readonly requestId: string;
  readonly keyId: string;
  readonly ms: number;
}

const WRITE_AFTER_MS = 500;
/** Requests in memory while PostgreSQL does not take them: some 3 MB. */
const MOST = 10_000;

/** Gathers answered requests of keys and writes them together, so that none waits for it. */
@Injectable()
export class RequestLog {
  #waiting: (LoggedRequest & { readonly environmentId: number })[] = [];
  #timer: NodeJS.Timeout | undefined;
  #dropped = 0;
  #reason: string | null = null;

  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  add({ caller, method, routeOptions, id: requestId }: FastifyRequest, reply: FastifyReply): void {
    if (caller === null) return;
    if (this.#waiting.length >= MOST) {
      this.#dropped += 1;
      return;
    }
    this.#waiting.push({
      environmentId: caller.scope.environmentId,
      id: newId(),
      answeredAt: this.clock.now(),
      method,
      route: routeOptions.url?.replaceAll(/:(\w+)/g, '{$1}') ?? null,
      status: reply.statusCode,
      requestId,
      keyId: caller.keyId,
      ms: Math.round(reply.elapsedTime),
    });
    this.#timer ??= setTimeout(() => void this.write(), WRITE_AFTER_MS).unref();
  }

  /**
   * Writes what waits. Those that PostgreSQL does not take are lost, which a line of the log says once it takes some
   * again, or with the last.
   */
  async write(isLast = false): Promise<void> {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    const requests = this.#waiting;
    this.#waiting = [];
    let error: unknown = null;
    if (requests.length > 0)
      error = await this.#insert(requests).then(
        () => null,
        (fault: unknown) => fault,
      );
    if (error !== null) {
      this.#dropped += requests.length;
      this.#reason = describeError(error);
    }
    if (this.#dropped === 0 || (error !== null && !isLast)) return;
    const reason = this.#reason ?? 'too many at once';
    this.logger.warn({ requests: this.#dropped, reason }, 'requests are missing in the log of requests');
    this.#dropped = 0;
    this.#reason = null;
  }

  async #insert(requests: readonly LoggedRequest[]): Promise<void> {
    // Citus copies what was selected otherwise, which row-level security refuses.
    await this.database.statement(
      'system',
      sql`${named('log_requests')}
        insert into platform.request_log (environment_id, id, answered_at, method, route, status, request_id, key_id, ms)
        select r."environmentId", r.id, r."answeredAt", r.method, r.route, r.status, r."requestId", r."keyId", r.ms
        from jsonb_to_recordset(${JSON.stringify(requests)}::jsonb) as r("environmentId" bigint, id uuid,
          "answeredAt" timestamptz, method text, route text, status int, "requestId" text, "keyId" uuid, ms int)
        returning 1`,
      { flushed: false },
    );
  }
}

const ORDER = new ListOrder([
  ['answered_at', 'timestamptz'],
  ['id', 'uuid'],
]);

/** Rows that are counted. */
const MOST_COUNTED = 10_000;

interface RequestFilter {
  readonly status?: number | undefined;
  readonly requestId?: string | undefined;
}

/** Lists the requests of an environment's keys in the last 24 hours. */
@Injectable()
export class RequestsQuery {
  constructor(private readonly database: Database) {}

  /** Newest first; those of the last second may be missing. At most 10 000 are counted. */
  page(scope: ProjectScope, filter: RequestFilter, request: PageRequest): Promise<Page<LoggedRequest>> {
    const rows = requestsOf(scope, filter);
    const total = sql<number>`(select count(*) from (select 1 from ${rows} t limit ${MOST_COUNTED}) c)`;
    return this.database.read(scope, { isList: true }, async () => {
      const tables = this.database.tables();
      const found = await sql<LoggedRequest & { readonly place: Place }>`
        select l.id, l.answered_at, l.method, l.route, l.status, l.request_id, l.key_id, l.ms, ${ORDER.place} as place
        from ${rows} l where ${ORDER.isBehind(request)} order by ${ORDER.by} ${limitOf(request)}`.execute(
        tables,
      );
      const counted = await sql<{ total: number }>`select ${totalOf(request, total)} as total`.execute(
        tables,
      );
      return pageOfRows<LoggedRequest>(found.rows, request, counted.rows[0]!.total);
    });
  }
}

function requestsOf({ environmentId }: ProjectScope, { status, requestId }: RequestFilter) {
  const ofId = requestId === undefined ? sql`` : sql`and r.request_id = ${requestId}`;
  const isFault = status !== undefined && status >= 400 ? sql`and r.status >= 400` : sql``;
  const ofStatus = status === undefined ? sql`` : sql`${isFault} and r.status = ${status}`;
  return sql`(
    select * from platform.request_log r where r.environment_id = ${environmentId} ${ofStatus} ${ofId}
  )`;
}
