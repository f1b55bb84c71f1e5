import type pg from 'pg';
import { UnfitDatabaseError } from './unfit-database.error.js';

/** The oldest PostgreSQL that has what our SQL uses, e.g. `security_invoker` views. */
const OLDEST = 15;

/** The server is older than our SQL can do with. */
export class OldServerError extends UnfitDatabaseError {
  constructor(version: string) {
    super(`The PostgreSQL of DATABASE_URL is ${version}; Mailwright needs ${OLDEST} or newer.`);
  }
}

/** Throws `OldServerError` when `version` (as `server_version`, e.g. `14.11 (Debian 14.11-1)`) is too old. */
export function refuseOldVersion(version: string): void {
  if (Number.parseInt(version, 10) < OLDEST) throw new OldServerError(version);
}

/** Asks the server for its version; throws `OldServerError`. */
export async function refuseOldServer(client: pg.Client | pg.Pool): Promise<void> {
  const { rows } = await client.query<{ server_version: string }>('show server_version');
  refuseOldVersion(rows[0]?.server_version ?? '');
}
