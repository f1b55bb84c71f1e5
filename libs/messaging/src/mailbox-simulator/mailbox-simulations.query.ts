import type { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { mailboxBehaviour, type Simulation } from './mailbox-simulation.js';

/** Channel on which workers hear that there is a mailbox to simulate. */
export const SIMULATIONS_CHANNEL = 'mailwright_simulations';

interface KeptMail {
  readonly deliveryId: string;
  readonly environmentId: number;
  readonly to: string;
}

/** Notes, in the transaction that keeps a mail in the test inbox, what its mailbox is to do with it. */
export async function noteSimulation(
  database: Database,
  { deliveryId, environmentId, to }: KeptMail,
  createdAt: Date,
): Promise<void> {
  const behaviour = mailboxBehaviour(to);
  if (behaviour === null) return;
  await database
    .tables<MessagingTables>()
    .insertInto('messaging.mailbox_simulations')
    .values({ deliveryId, environmentId, behaviour, createdAt })
    .onConflict((conflict) => conflict.columns(['deliveryId', 'environmentId']).doNothing())
    .execute();
  database.notify(SIMULATIONS_CHANNEL);
}

/** Removes the note. False when another worker has done so, or the mail was not sent after all. */
export async function takeSimulation(
  database: Database,
  { deliveryId, environmentId, state }: Simulation,
): Promise<boolean> {
  const { numDeletedRows } = await database
    .tables<MessagingTables>()
    .deleteFrom('messaging.mailbox_simulations')
    .where('environmentId', '=', environmentId)
    .where('deliveryId', '=', deliveryId)
    .executeTakeFirst();
  return numDeletedRows === 1n && state === 'SENT';
}
