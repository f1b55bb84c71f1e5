import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Database, named, sqlStateOf } from '#platform';
import type { BillingTables } from './billing-tables.js';
import { UNLIMITED } from './plan.js';
import { billingPeriod } from './subscriptions/billing-period.js';
import { allowsSending, type SubscriptionStatus } from './subscriptions/subscription-account.js';
import { SubscriptionsQuery } from './subscriptions/subscriptions.query.js';

export interface EmailReservation {
  readonly granted: boolean;
  /** The period whose e-mails were reserved, for `settle`. */
  readonly periodStart: Date;
  /** The e-mails left in the period after this reservation; `Infinity` when the plan has no limit. */
  readonly remaining: number;
  /** False without a subscription that allows sending, whatever its plan has left. */
  readonly isSendingAllowed: boolean;
}

interface Allowance {
  readonly isSendingAllowed: boolean;
  readonly periodStart: Date;
  /** Null when unlimited. */
  readonly limit: number | null;
}

/** A tenant's plan as far as its e-mails go. */
export interface EmailPlan {
  readonly status: SubscriptionStatus;
  readonly anchoredAt: Date;
  readonly maxEmails: number;
}

/**
 * At this distance from the limit demands do not wait for each other: it exceeds what all transactions ask for that there can be at
 * once, which a count does not see.
 */
const ROOM_FOR_ALL = 20_000;
/** The most that one transaction demands side by side with others. */
const MOST_AT_ONCE = 100;

/** SQLSTATE where the plan has no room for a demand. */
const TOO_FEW = 'MW002';

/** The plan has too few e-mails left for a demand. */
export const isEmailShortage = (error: unknown): boolean => sqlStateOf(error) === TOO_FEW;

/**
 * Monthly e-mail quota of a tenant: reserved when queued, settled when sent or given up. Reserved and used together never
 * exceed the plan's limit under any concurrency. A tenant without a subscription that allows sending has none.
 */
@Injectable()
export class EmailQuotaService {
  constructor(
    private readonly database: Database,
    private readonly subscriptions: SubscriptionsQuery,
  ) {}

  /** E-mails that can still be reserved in the period of `now`; `Infinity` when the plan has no limit. */
  remaining(scope: ProjectScope, now: Date): Promise<number> {
    return this.database.transaction(scope, async () => {
      const { periodStart, limit } = await this.#allowance(scope, now);
      return limit === null ? Infinity : Math.max(0, limit - (await this.committed(scope, periodStart)));
    });
  }

  /** E-mails of the period that are reserved or sent. */
  committed(scope: ProjectScope, periodStart: Date): Promise<number> {
    return this.database.transaction(scope, async () => {
      const row = await this.database
        .tables<BillingTables>()
        .selectFrom('billing.email_usage as u')
        .select(['u.reserved', 'u.used'])
        .select((eb) => {
          const settled = eb
            .selectFrom('billing.email_settlements as s')
            .select(sql<string>`sum(s.released - s.reserved)`.as('released'))
            .whereRef('s.tenantId', '=', 'u.tenantId')
            .whereRef('s.periodStart', '=', 'u.periodStart');
          return eb.fn.coalesce(settled, eb.lit(0)).as('released');
        })
        .where('u.tenantId', '=', scope.tenantId)
        .where('u.periodStart', '=', periodStart)
        .executeTakeFirst();
      // A sum of bigint is numeric, which comes as text.
      return row === undefined ? 0 : Math.max(0, row.reserved + row.used - Number(row.released));
    });
  }

  /**
   * Reserves all of `emails` (a whole number, 0 or more) or none, in the caller's transaction. Until it ends, other
   * reservations of the tenant wait; settlements do not.
   */
  async reserve(scope: ProjectScope, emails: number, now: Date): Promise<EmailReservation> {
    if (!isCount(emails)) throw new RangeError('A reservation is a whole number of e-mails.');
    return this.database.transaction(scope, async () => {
      const { periodStart, limit, isSendingAllowed } = await this.#allowance(scope, now);
      if (limit === 0) return { granted: emails === 0, periodStart, remaining: 0, isSendingAllowed };
      const { rows } = await sql<{ granted: boolean; committed: number }>`
        select granted, committed
        from billing.reserve_emails(${scope.tenantId}, ${periodStart}, ${emails}, ${limit})
      `.execute(this.database.tables());
      if (rows[0] === undefined) throw new Error('The reservation was not answered.');
      const { granted, committed: taken } = rows[0];
      const remaining = limit === null ? Infinity : Math.max(0, limit - taken);
      return { granted, periodStart, remaining, isSendingAllowed };
    });
  }

  /** Statement that reads the plan for `demand`; no row where there is no subscription. */
  plan({ tenantId }: ProjectScope): RawBuilder<EmailPlan> {
    return sql<EmailPlan>`${named('email_plan')}
      select s.status, s.anchored_at, (v.limits ->> 'maxEmailsPerMonth')::bigint as max_emails
      from billing.subscriptions s join billing.plan_versions v on v.id = billing.plan_version_of(s.plan_tier, s.plan_version_id)
      where s.tenant_id = ${tenantId}`;
  }

  /**
   * Statement that reserves all of `emails` in the caller's transaction, or fails with an error for which `isEmailShortage` is true;
   * and the period for `settle`. Far from the plan's limit nobody waits for others.
   */
  demand(
    { tenantId }: ProjectScope,
    plan: EmailPlan | undefined,
    emails: number,
    now: Date,
  ): { readonly periodStart: Date; readonly statement: RawBuilder<unknown> } {
    const { periodStart, limit } = allowanceOf(plan, now);
    const room = emails > MOST_AT_ONCE ? limit : ROOM_FOR_ALL;
    const statement = sql`${named('demand_emails')}
      select billing.demand_emails(${tenantId}, ${periodStart}, ${emails}, ${limit}, ${room})`;
    return { periodStart, statement };
  }

  /** Turns reserved e-mails of a period into used and released ones, in the caller's transaction; waits for no other. */
  async settle(
    scope: ProjectScope,
    periodStart: Date,
    change: { readonly used: number; readonly released: number },
  ): Promise<void> {
    if (!isCount(change.used) || !isCount(change.released))
      throw new RangeError('E-mails are settled in whole numbers.');
    if (change.used + change.released === 0) return;
    const settled = this.settling(scope, sql`${periodStart}`, {
      used: sql`${change.used}`,
      released: sql`${change.released}`,
    });
    await this.database.transaction(scope, () => sql`select ${settled}`.execute(this.database.tables()));
  }

  /** The same as an expression for the caller's statement. */
  settling(
    scope: ProjectScope,
    periodStart: RawBuilder<unknown>,
    change: { readonly used: RawBuilder<unknown>; readonly released: RawBuilder<unknown> },
  ): RawBuilder<unknown> {
    return sql`billing.settle_emails(${scope.tenantId}, ${periodStart}, ${change.used}, ${change.released})`;
  }

  async #allowance(scope: ProjectScope, now: Date): Promise<Allowance> {
    const subscription = await this.subscriptions.ofTenant(scope);
    const maxEmails = subscription?.limits.maxEmailsPerMonth ?? 0;
    return allowanceOf(subscription === null ? undefined : { ...subscription, maxEmails }, now);
  }
}

function allowanceOf(plan: EmailPlan | undefined, now: Date): Allowance {
  if (plan === undefined) return { periodStart: now, limit: 0, isSendingAllowed: false };
  const periodStart = billingPeriod(plan.anchoredAt, now).start;
  const isSendingAllowed = allowsSending(plan.status);
  if (!isSendingAllowed) return { periodStart, limit: 0, isSendingAllowed };
  return { periodStart, limit: plan.maxEmails === UNLIMITED ? null : plan.maxEmails, isSendingAllowed };
}

function isCount(value: number): boolean {
  return Number.isSafeInteger(value) && value >= 0;
}
