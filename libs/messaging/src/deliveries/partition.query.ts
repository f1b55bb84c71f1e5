import { sql } from 'kysely';

/** The day, `YYYY-MM-DD`, by which the deliveries of a campaign `c` are partitioned. */
export const PARTITION = sql<string>`(c.queued_at at time zone 'UTC')::date`;
