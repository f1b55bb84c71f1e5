import { collectDefaultMetrics, Counter, Gauge, type Registry } from 'prom-client';
import type { Database } from '../database/database.js';

/** Each look wakes the process: the usual 10 ms are a third of what a worker costs at rest. */
const LAG_LOOKED_AT_EVERY_MS = 100;

/** The process itself (event-loop lag, memory, garbage collection) and its database connections. */
export function collectProcessMetrics(
  registry: Registry,
  { pool, replica }: Pick<Database, 'pool' | 'replica'>,
): void {
  collectDefaultMetrics({ register: registry, eventLoopMonitoringPrecision: LAG_LOOKED_AT_EVERY_MS });
  new Gauge({
    name: 'mailwright_database_connections',
    help: 'Connections of the pool, by state.',
    labelNames: ['state'] as const,
    registers: [registry],
    collect() {
      this.set({ state: 'used' }, pool.totalCount - pool.idleCount);
      this.set({ state: 'idle' }, pool.idleCount);
    },
  });
  new Gauge({
    name: 'mailwright_database_waiting',
    help: 'Transactions that wait for a connection.',
    registers: [registry],
    collect() {
      this.set(pool.waitingCount);
    },
  });
  if (replica !== undefined) collectReplicaReads(registry, replica.answered);
}

function collectReplicaReads(registry: Registry, answered: Readonly<Record<string, number>>): void {
  new Counter({
    name: 'mailwright_late_reads_total',
    help: 'Reads that the read replica may answer, by the server that did.',
    labelNames: ['server'] as const,
    registers: [registry],
    collect() {
      this.reset();
      for (const [server, count] of Object.entries(answered)) this.inc({ server }, count);
    },
  });
}
