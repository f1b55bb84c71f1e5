import type { Database } from '../database/database.js';
import { refuseOtherSchema } from '../database/migration-records.js';
import type { HealthCheck } from './health-checks.js';

/** Whether PostgreSQL answers, row-level security holds, and the schema is this version's: neither older nor newer. */
export function databaseChecks(database: Database): HealthCheck[] {
  return [
    { name: 'database', check: () => database.ping() },
    { name: 'migrations', check: () => refuseOtherSchema(database.pool) },
  ];
}
