import type { Database } from '../database/database.js';
import { pendingMigrations } from '../database/migrations.js';
import type { HealthCheck } from './health-checks.js';

/** Whether PostgreSQL answers, and has the schema that this version needs. */
export function databaseChecks(database: Database): HealthCheck[] {
  return [
    { name: 'database', check: () => database.ping() },
    {
      name: 'migrations',
      check: async () => {
        const pending = await pendingMigrations(database.pool);
        if (pending.length > 0) throw new Error(`Pending: ${pending.join(', ')}`);
      },
    },
  ];
}
