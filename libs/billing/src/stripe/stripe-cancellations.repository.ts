import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database, type Sql } from '#platform';

const AT_ONCE = 100;
const FIRST_RETRY_MS = 60_000;
const LONGEST_RETRY_MS = 6 * 3_600_000;

/** A subscription to be cancelled at Stripe. */
export interface StripeCancellation {
  readonly externalId: string;
  readonly tenantId: number;
  readonly attempts: number;
}

/** Which subscriptions are to be cancelled at Stripe: an outbox, since Stripe may not answer when one expires. */
@Injectable()
export class StripeCancellations {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** In the transaction in which it expires. */
  async request(
    db: Sql,
    { externalId, tenantId }: Omit<StripeCancellation, 'attempts'>,
    now: Date,
  ): Promise<void> {
    await sql`
      insert into billing.stripe_cancellations (external_id, tenant_id, requested_at)
      values (${externalId}, ${tenantId}, ${now}) on conflict do nothing
    `.execute(db);
  }

  /** Those whose time to be tried has come, some at a time. */
  async due(now: Date): Promise<StripeCancellation[]> {
    const isAny = sql`exists (select from billing.stripe_cancellations where retry_at <= ${now})`;
    if (!(await this.database.holds('stripe.cancellations', isAny))) return [];
    return this.database.system(async ({ db }) => {
      const { rows } = await sql<StripeCancellation>`
        select external_id as "externalId", tenant_id as "tenantId", attempts from billing.stripe_cancellations
        where retry_at <= ${now} order by retry_at limit ${AT_ONCE}
      `.execute(db);
      return rows;
    });
  }

  /** False when somebody else was faster. */
  async remove(db: Sql, { externalId }: StripeCancellation): Promise<boolean> {
    const { numAffectedRows } = await sql`
      delete from billing.stripe_cancellations where external_id = ${externalId}
    `.execute(db);
    return numAffectedRows === 1n;
  }

  /** It is tried again: after a minute, then twice as long each time, up to six hours; for as long as it takes. */
  async postpone({ externalId, attempts }: StripeCancellation, fault: string, now: Date): Promise<void> {
    const retryAt = new Date(now.getTime() + Math.min(FIRST_RETRY_MS * 2 ** attempts, LONGEST_RETRY_MS));
    await this.database.system(({ db }) =>
      sql`
        update billing.stripe_cancellations set attempts = attempts + 1, retry_at = ${retryAt}, last_error = ${fault}
        where external_id = ${externalId}
      `.execute(db),
    );
  }
}
