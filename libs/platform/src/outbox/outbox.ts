import { type RawBuilder, sql } from 'kysely';
import { type DomainEvent, newId, type ProjectScope } from '#kernel';
import type { Database } from '../database/database.js';

/** On which relays hear that there are events. */
export const OUTBOX_CHANNEL = 'mailwright_outbox';

/**
 * Writes events beside the rows they tell of, in the open transaction of a database: both are kept, or neither.
 * The relay hands each to its handlers, at least once; the handlers' inbox makes it once.
 */
export async function publish(
  database: Database,
  scope: ProjectScope,
  ...events: readonly DomainEvent[]
): Promise<void> {
  if (events.length === 0) return;
  const rows = events.map((event) => ({ id: newId(), event_name: event.name, payload: event.payload }));
  await sql`
    insert into platform.outbox (id, environment_id, event_name, payload)
    select e.id, ${scope.environmentId}, e.event_name, e.payload
    from jsonb_to_recordset(${JSON.stringify(rows)}::jsonb) as e(id uuid, event_name text, payload jsonb)
  `.execute(database.tables());
  database.notify(OUTBOX_CHANNEL);
}

/** What is `field` in the payloads of an event that `handler` has still to handle. */
export const awaiting = (event: string, handler: string, field: string): RawBuilder<unknown> => sql`
  select payload ->> ${field} from platform.outbox where event_name = ${event}
  union all
  select payload ->> ${field} from platform.inbox where handler = ${handler} and finished_at is null
`;
