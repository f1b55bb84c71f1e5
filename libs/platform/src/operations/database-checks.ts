import type { Database } from '../database/database.js';
import { refuseOlderSchema } from '../database/migration-records.js';
import type { HealthCheck } from './health-checks.js';

/**
 * Whether PostgreSQL answers, row-level security holds, and the schema is not older than this version. A program that runs
 * while a newer version migrates goes on until it is replaced.
 */
export function databaseChecks(database: Database): HealthCheck[] {
  const { replica } = database;
  return [
    { name: 'database', check: () => database.ping() },
    { name: 'migrations', check: () => refuseOlderSchema(database.pool) },
    ...(replica ? [{ name: 'readReplica', check: () => replica.check(), isOptional: true }] : []),
  ];
}
