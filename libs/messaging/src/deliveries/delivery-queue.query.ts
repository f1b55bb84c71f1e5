import { type RawBuilder, sql } from 'kysely';
import { type Database, named } from '#platform';
import { type EmailAddress, newId, parseEmailAddress, type ProjectScope } from '#kernel';
import type { DeliveriesTable } from '../messaging-tables.js';
import type { ClaimedDelivery } from './delivery.js';

/** Channel on which senders hear that there is something to send. */
export const DELIVERIES_CHANNEL = 'mailwright_deliveries';

/** Wakes all senders when the open transaction commits. */
export function wakeSenders(database: Database): void {
  database.notify(DELIVERIES_CHANNEL);
}

interface QueuedMail extends Pick<DeliveriesTable, 'kind' | 'sourceId' | 'subscriberId'> {
  readonly locale?: string | null;
  readonly variant?: number | null;
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  /** The domain of its Message-ID. */
  readonly domain: string;
  readonly now: Date;
}

/** A delivery to be tried at once. */
export function newDelivery({ environmentId }: ProjectScope, { address, domain, now, ...mail }: QueuedMail) {
  const id = newId();
  return {
    ...mail,
    id,
    queuedOn: now.toISOString().slice(0, 10),
    environmentId,
    address: address.value,
    addressKey: address.key,
    messageId: `<${id}@${domain}>`,
    state: 'PENDING',
    nextAttemptAt: now,
    createdAt: now,
  } as const;
}

/** True for a delivery `d` that was queued on that day; names the month for the planner: one partition, not all. */
export function isQueuedOn(date: string | null): RawBuilder<unknown> {
  if (date === null) return sql`false`;
  const [year = 0, month = 0] = date.split('-').map(Number);
  const [from, to] = [0, 1].map((months) =>
    new Date(Date.UTC(year, month - 1 + months, 1)).toISOString().slice(0, 10),
  );
  return sql`d.queued_on = ${date}::date and d.queued_on >= ${sql.lit(from)}::date and d.queued_on < ${sql.lit(to)}::date`;
}

/** Notes in claimed deliveries the addresses that they have now, since their people changed theirs after they were queued. */
export function readdress(
  database: Database,
  scope: ProjectScope,
  moved: readonly ClaimedDelivery[],
): Promise<void> {
  return database.transaction(scope, async () => {
    for (const [queuedOn, ofDay] of Map.groupBy(moved, (delivery) => delivery.queuedOn)) {
      const keys = ofDay.map(({ address }) => keyOf(address));
      await sql`${named('readdress_deliveries')}
        update messaging.deliveries d set address = m.address, address_key = m.key
        from unnest(${ofDay.map(({ id }) => id)}::uuid[], ${ofDay.map(({ leaseToken }) => leaseToken)}::uuid[],
          ${ofDay.map(({ address }) => address)}::text[], ${keys}::text[]) m(id, lease_token, address, key)
        where d.id = m.id and d.lease_token = m.lease_token and d.environment_id = ${scope.environmentId} and ${isQueuedOn(queuedOn)}
      `.execute(database.tables());
    }
  });
}

function keyOf(email: string): string {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new Error(`The address of a subscriber ${parsed.fault}.`);
  return parsed.address.key;
}
