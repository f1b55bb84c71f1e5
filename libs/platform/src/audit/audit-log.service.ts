import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type Page, pageOfRows, type PageRequest, type Place, type ProjectScope } from '#kernel';
import { Database } from '../database/database.js';
import { drainEnvironments } from '../database/environments-due.js';
import { limitOf, ListOrder, pagesOf, totalOf } from '../database/list-order.js';
import { drain } from '../jobs/drain.js';
import { Periodic } from '../jobs/periodic-tasks.js';
import {
  AUDIT_COLUMNS,
  type AuditRow,
  auditView,
  chain,
  chainAll,
  CHAINS,
  removeOldest,
} from './audit-chain.js';
import type { AuditOutcome } from '../database/audit-trail.js';

/** Filters of the audit log, which hold together. */
export interface AuditFilter {
  readonly from?: Date | undefined;
  readonly to?: Date | undefined;
  readonly keyId?: string | undefined;
  readonly action?: string | undefined;
  readonly targetId?: string | undefined;
  readonly targetType?: string | undefined;
  readonly outcome?: AuditOutcome | undefined;
  readonly requestId?: string | undefined;
}

const ORDER = new ListOrder([
  ['occurred_at', 'timestamptz'],
  ['sequence', 'bigint'],
]);

const SECOND_MS = 1_000;
const DAY_MS = 86_400_000;
/** Longer than the 13 months that are promised. */
const KEPT_MS = 400 * DAY_MS;
const BATCH = 1_000;
const EXPORTED = 1_000;
/** Filtered rows that are counted. */
const MOST_COUNTED = 10_000;

/** The audit log of environments: chained, listed, exported, and let go when it is old. */
@Injectable()
export class AuditLogService {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** Newest first, with all that is committed. With filters at most 10 000 rows are counted. */
  async page(
    scope: ProjectScope,
    filter: AuditFilter,
    request: PageRequest,
  ): Promise<Page<ReturnType<typeof auditView>>> {
    await chainAll(this.database, scope.environmentId);
    return this.database.read(scope, { isList: true }, async () => {
      const { rows } = await sql<AuditRow & { readonly place: Place; readonly totalElements: number }>`
        select ${AUDIT_COLUMNS}, ${ORDER.place} as place, ${totalOf(request, total(scope, filter))} as total_elements
        from ${rowsOf(scope, filter)} l where ${ORDER.isBehind(request)}
        order by ${ORDER.by} ${limitOf(request)}`.execute(this.database.tables());
      const totalElements = rows[0]?.totalElements ?? (await this.#total(scope, filter));
      const { items, next } = pageOfRows<AuditRow>(rows, request, totalElements);
      return { items: items.map(auditView), totalElements, next };
    });
  }

  /** Lines of JSON of all rows that match, newest first, as many at a time as fit into memory easily. */
  async *lines(scope: ProjectScope, filter: AuditFilter): AsyncGenerator<string> {
    await chainAll(this.database, scope.environmentId);
    const pages = pagesOf(this.database, scope, {
      rows: sql<AuditRow>`select * from ${rowsOf(scope, filter)} l`,
      order: ORDER,
      size: EXPORTED,
    });
    for await (const page of pages) yield page.map((row) => `${JSON.stringify(auditView(row))}\n`).join('');
  }

  @Periodic('chain-audit-log', { everyMs: 5 * SECOND_MS })
  chainWaiting(): Promise<void> {
    return drainEnvironments(
      this.database,
      { rows: sql`platform.audit_inbox`, batch: BATCH },
      (environmentId, most) => chain(this.database, environmentId, most),
    );
  }

  @Periodic('trim-audit-log', { everyMs: DAY_MS })
  async trim(): Promise<void> {
    const now = this.clock.now();
    const before = new Date(now.getTime() - KEPT_MS);
    const { rows: environments } = await this.database.system(() =>
      sql<{ id: number }>`${CHAINS}`.execute(this.database.tables()),
    );
    for (const { id } of environments)
      await drain(BATCH, () =>
        this.database.system(() => removeOldest(this.database, id, { before, now, most: BATCH })),
      );
  }

  async #total(scope: ProjectScope, filter: AuditFilter): Promise<number> {
    const { rows } = await sql<{ total: number }>`select ${total(scope, filter)} as total`.execute(
      this.database.tables(),
    );
    return rows[0]!.total;
  }
}

function rowsOf({ environmentId }: ProjectScope, filter: AuditFilter): RawBuilder<unknown> {
  const { from, to, keyId, action, targetId, targetType, outcome, requestId } = filter;
  const conditions = [
    from === undefined ? [] : [sql`a.occurred_at >= ${from}`],
    to === undefined ? [] : [sql`a.occurred_at < ${to}`],
    keyId === undefined ? [] : [sql`a.key_id = ${keyId}`],
    action === undefined ? [] : [sql`a.action = ${action}`],
    targetId === undefined ? [] : [sql`a.target_id = ${targetId}`],
    targetType === undefined ? [] : [sql`a.target_type = ${targetType}`],
    outcome === undefined ? [] : [sql`a.outcome = ${outcome}`],
    requestId === undefined ? [] : [sql`a.request_id = ${requestId}`],
  ].flat();
  return sql`(
    select * from platform.audit_log a
    where ${sql.join([sql`a.environment_id = ${environmentId}`, ...conditions], sql` and `)}
  )`;
}

/** Rows of one chain have no gaps: without filters their number follows from the first and the last. */
function total(scope: ProjectScope, filter: AuditFilter): RawBuilder<number> {
  const rows = rowsOf(scope, filter);
  return Object.values(filter).every((value) => value === undefined)
    ? sql<number>`coalesce((select t.sequence from ${rows} t order by t.sequence desc limit 1)
        - (select t.sequence from ${rows} t order by t.sequence limit 1) + 1, 0)`
    : sql<number>`(select count(*) from (select 1 from ${rows} t limit ${MOST_COUNTED}) c)`;
}
