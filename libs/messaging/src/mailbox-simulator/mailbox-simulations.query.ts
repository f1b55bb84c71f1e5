import { sql } from 'kysely';
import type { Database } from '#platform';
import type { MessagingTables } from '../messaging-tables.js';
import { mailboxBehaviour } from './mailbox-simulation.js';

/** NOTIFY channel on which workers hear that there is a mailbox to simulate. */
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
  now: Date,
): Promise<void> {
  const behaviour = mailboxBehaviour(to);
  if (behaviour === null) return;
  await database
    .tables<MessagingTables>()
    .insertInto('messaging.mailbox_simulations')
    .values({ deliveryId, environmentId, behaviour, createdAt: now })
    .onConflict((conflict) => conflict.column('deliveryId').doNothing())
    .execute();
  await sql`select pg_notify(${SIMULATIONS_CHANNEL}, '')`.execute(database.tables());
}
