import { sql } from 'kysely';

/**
 * The server's present epoch: see `messaging.server_era`. The function is called only once after a crash, since the call
 * alone takes as long as several marks.
 */
export const CURRENT_EPOCH = sql<number>`coalesce((select e.era from messaging.server_era e), messaging.current_era())`;
