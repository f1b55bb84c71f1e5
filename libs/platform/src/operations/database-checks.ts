import type { Logger } from 'pino';
import type { Database } from '../database/database.js';
import { databaseFailure } from '../database/database-failure.js';
import { refuseOlderSchema } from '../database/migration-records.js';
import { type OutageListener, outageLines } from '../lifecycle/outage.js';
import type { HealthCheck } from './health-checks.js';

/** What a program says of an outage of PostgreSQL. */
export function databaseOutageLines(logger: Logger): OutageListener {
  const lines = { begins: 'PostgreSQL cannot be used', ends: 'PostgreSQL can be used again' };
  return outageLines(logger, lines, (error) => databaseFailure(error)?.message ?? null);
}

/**
 * Whether PostgreSQL answers, row-level security holds, and the schema is not older than this version. A program that runs
 * while a newer version migrates goes on until it is replaced.
 */
export function databaseChecks(database: Database): HealthCheck[] {
  const { replica } = database;
  const reasonOf = (error: unknown) => databaseFailure(error)?.message ?? null;
  return [
    { name: 'database', check: () => database.check(), reasonOf },
    { name: 'migrations', check: () => refuseOlderSchema(database.pool) },
    ...(replica ? [{ name: 'readReplica', check: () => replica.check(), isOptional: true }] : []),
  ];
}
