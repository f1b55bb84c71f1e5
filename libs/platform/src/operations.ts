import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { Logger } from 'pino';
import type { Registry } from 'prom-client';
import { withTimeout } from '#kernel';
import { databaseFailure } from './database/database-failure.js';
import type { Database } from './database/database.js';
import { refuseOlderSchema } from './database/fit-database.js';
import { replicaFailure } from './database/read-replica.js';
import { outageLines } from './lifecycle/outage.js';

/** Check of one thing that the process needs. */
export interface HealthCheck {
  /** As it appears in the answer: `database`. */
  readonly name: string;
  /** Rejects, or does not answer, when it is not there. */
  check(): Promise<void>;
  /** Reason of a rejected `check`, in words for anybody; null, or left out, when it is unknown. */
  reasonOf?(error: unknown): string | null;
  /** The process does its work without it. */
  readonly isOptional?: boolean;
}

export type HealthState = 'ok' | 'failed' | 'timed out';

export interface Readiness {
  /** Degraded: ready, and only something optional is missing. */
  readonly status: 'ok' | 'degraded' | 'unavailable';
  readonly checks: Readonly<Record<string, HealthState>>;
  /** Reasons of failed checks, where they are known. */
  readonly reasons?: Readonly<Record<string, string>>;
}

interface Outcome {
  readonly state: HealthState;
  readonly reason?: string | null;
}

const DEADLINE_MS = 2_000;

/** Readiness of the process for its work, and what it lacks. */
export class HealthChecks {
  constructor(private readonly checks: readonly HealthCheck[]) {}

  /** Asks all at once; answers within two seconds. */
  async readiness(): Promise<Readiness> {
    const outcomes = await Promise.all(this.checks.map(outcomeOf));
    const missing = this.checks.filter((_, index) => outcomes[index]?.state !== 'ok');
    const without = missing.every(({ isOptional }) => isOptional) ? 'degraded' : 'unavailable';
    return {
      status: missing.length === 0 ? 'ok' : without,
      checks: Object.fromEntries(this.checks.map(({ name }, index) => [name, outcomes[index]!.state])),
      ...reasonsOf(this.checks, outcomes),
    };
  }
}

function reasonsOf(checks: readonly HealthCheck[], outcomes: readonly Outcome[]): Pick<Readiness, 'reasons'> {
  const known = checks.flatMap(({ name }, index) => {
    const reason = outcomes[index]?.reason ?? null;
    return reason === null ? [] : [[name, reason] as const];
  });
  return known.length === 0 ? {} : { reasons: Object.fromEntries(known) };
}

function outcomeOf(check: HealthCheck): Promise<Outcome> {
  const asked = check.check().then(
    (): Outcome => ({ state: 'ok' }),
    (error: unknown): Outcome => ({ state: 'failed', reason: check.reasonOf?.(error) ?? null }),
  );
  return withTimeout(asked, DEADLINE_MS, () => ({ state: 'timed out' }));
}

/** Logs outages of PostgreSQL and of its read replica from now on. */
export function logDatabaseOutages({ outage, replica }: Database, logger: Logger): void {
  const lines = { begins: 'PostgreSQL cannot be used', ends: 'PostgreSQL can be used again' };
  outage.tell(outageLines(logger, lines, (error) => databaseFailure(error)?.message ?? null));
  if (replica === undefined) return;
  const ofReplica = {
    begins: 'The read replica cannot be used: the primary answers all reads',
    ends: 'The read replica can be used again',
  };
  replica.outage.tell(outageLines(logger, ofReplica, replicaFailure));
  // Nobody may read there for long, or ever, for a wrong URL to be noticed.
  void replica.check().catch(() => undefined);
}

/**
 * Checks that PostgreSQL answers, row-level security holds, and the schema is not older than this version. A program that runs
 * while a newer version migrates goes on until it is replaced.
 */
export function databaseChecks(database: Database): HealthCheck[] {
  const { replica } = database;
  const reasonOf = (error: unknown) => databaseFailure(error)?.message ?? null;
  const messageOf = (error: unknown) => (error instanceof Error ? error.message : null);
  return [
    { name: 'database', check: () => database.check(), reasonOf },
    { name: 'migrations', check: () => refuseOlderSchema(database.pool) },
    ...(replica
      ? [{ name: 'readReplica', check: () => replica.check(), isOptional: true, reasonOf: messageOf }]
      : []),
  ];
}

export interface OperationsAnswer {
  readonly status: number;
  readonly contentType: string;
  readonly body: string;
}

/** The paths that operators, load balancers and Prometheus ask. */
export const OPERATIONS_PATHS = ['/health/live', '/health/ready', '/metrics'] as const;

export type OperationsPath = (typeof OPERATIONS_PATHS)[number];

/** Answers about the process, on whichever port. */
export class Operations {
  constructor(
    private readonly health: HealthChecks,
    private readonly registry: Registry,
  ) {}

  readiness(): Promise<Readiness> {
    return this.health.readiness();
  }

  async answer(path: OperationsPath): Promise<OperationsAnswer> {
    switch (path) {
      case '/health/live':
        return json(200, { status: 'ok' });
      case '/health/ready': {
        const readiness = await this.health.readiness();
        return json(readiness.status === 'unavailable' ? 503 : 200, readiness);
      }
      case '/metrics':
        return { status: 200, contentType: this.registry.contentType, body: await this.registry.metrics() };
    }
  }
}

function json(status: number, body: object): OperationsAnswer {
  return { status, contentType: 'application/json', body: JSON.stringify(body) };
}

/** Path of the operator's page and API. */
const OPERATOR = /^\/operator(?:[/?]|$)/;

/** Health and metrics on a port of their own: the worker's, and the api's on OPERATIONS_PORT and METRICS_PORT. */
export class OperationsServer {
  #server: Server | undefined;

  /** `operator` answers requests for the operator's page and API. */
  constructor(
    private readonly operations: Operations,
    private readonly paths: readonly OperationsPath[] = OPERATIONS_PATHS,
    private readonly operator?: (request: IncomingMessage, response: ServerResponse) => void,
  ) {}

  /** Resolves to the port, which matters when `port` is 0; rejects when it cannot listen. */
  async listen(port: number, host: string): Promise<number> {
    const server = createServer((request, response) => void this.#answer(request, response));
    // Each process of a worker has one of its own.
    server.listen({ port, host, exclusive: true });
    await once(server, 'listening');
    this.#server = server;
    return (server.address() as AddressInfo).port;
  }

  async close(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.closeAllConnections();
    server.close();
    await once(server, 'close');
  }

  async #answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    if (this.operator !== undefined && OPERATOR.test(request.url ?? '')) {
      this.operator(request, response);
      return;
    }
    const path = this.paths.find((known) => known === request.url?.split('?')[0]);
    const isRead = request.method === 'GET' || request.method === 'HEAD';
    if (path === undefined || !isRead) {
      response
        .writeHead(path === undefined ? 404 : 405, path === undefined ? {} : { allow: 'GET, HEAD' })
        .end();
      return;
    }
    try {
      const { status, contentType, body } = await this.operations.answer(path);
      response.writeHead(status, { 'content-type': contentType, 'cache-control': 'no-store' }).end(body);
    } catch {
      response.writeHead(500).end();
    }
  }
}

/** Reason why a program cannot listen on `host` at one of `ports` (by variable), for the operator; null for another error. */
export function listenFailure(
  error: unknown,
  host: string,
  ports: Readonly<Record<string, number | undefined>>,
): string | null {
  const code = typeof error === 'object' && error !== null && 'code' in error ? error.code : '';
  const set = Object.entries(ports).filter(([, port]) => port !== undefined);
  const named = `Port ${set.map(([name, port]) => `${port} (${name})`).join(' or ')} on ${host}`;
  const twice = set.filter(([, port]) => set.filter(([, other]) => other === port).length > 1);
  if (code === 'EADDRINUSE' && twice.length > 0)
    return `${twice.map(([name]) => name).join(' and ')} are the same port, ${twice[0]?.[1]}: each needs its own.`;
  if (code === 'EADDRINUSE') return `${named} is taken by another program.`;
  if (code === 'EACCES') return `${named} is not open to this user: take one from 1024 up.`;
  if (code === 'EADDRNOTAVAIL' || code === 'ENOTFOUND' || code === 'EAI_AGAIN')
    return `HOST is ${host}, which is no address of this machine.`;
  return null;
}
