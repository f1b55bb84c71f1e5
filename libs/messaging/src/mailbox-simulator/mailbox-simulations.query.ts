import { sql } from 'kysely';
import type { Sql } from '#platform';
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
  db: Sql,
  { deliveryId, environmentId, to }: KeptMail,
  now: Date,
): Promise<void> {
  const behaviour = mailboxBehaviour(to);
  if (behaviour === null) return;
  await sql`
    insert into messaging.mailbox_simulations (delivery_id, environment_id, behaviour, created_at)
    values (${deliveryId}, ${environmentId}, ${behaviour}, ${now})
    on conflict (delivery_id) do nothing
  `.execute(db);
  await sql`select pg_notify(${SIMULATIONS_CHANNEL}, '')`.execute(db);
}
