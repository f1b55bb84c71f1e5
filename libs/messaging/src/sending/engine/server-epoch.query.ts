import { sql } from 'kysely';

/**
 * The server's present epoch: see `messaging.server_epoch`. The function is called only once after a crash, since the call
 * alone takes as long as several marks.
 */
export const CURRENT_EPOCH = sql<number>`coalesce((select e.epoch from messaging.server_epoch e), messaging.current_epoch())`;
