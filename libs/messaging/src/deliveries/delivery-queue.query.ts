import type { Database } from '#platform';
import { type EmailAddress, newId, type ProjectScope } from '#kernel';
import type { DeliveriesTable } from '../messaging-tables.js';

/** Channel on which senders hear that there is something to send. */
export const DELIVERIES_CHANNEL = 'mailwright_deliveries';

/** Wakes all senders when the open transaction commits. */
export function wakeSenders(database: Database): void {
  database.notify(DELIVERIES_CHANNEL);
}

interface QueuedMail extends Pick<DeliveriesTable, 'kind' | 'sourceId' | 'subscriberId'> {
  readonly locale?: string | null;
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
