import { randomInt } from 'node:crypto';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { displayParts, hashApiKey, makeApiKey } from '../../../libs/access/src/api-key.js';
import { API_SCOPES, type Environment, newId, type ProjectScope } from '../../../libs/kernel/src/index.js';
import { ApiClient } from '../http/api-client.js';
import {
  advanceTime,
  createTestDatabase,
  openTestDatabase,
  type TestDatabase,
} from '../postgres/database.js';
import { createProject, type TestProject } from '../fixtures/fixtures.js';
import { type Environment as Variables, type RunningProgram, startProgram } from './program.js';
import { askSharedSystem, type Queue, type SharedSystemPlace } from './shared-system-client.js';

export interface KeyOptions {
  readonly scopes?: readonly string[];
  readonly rateLimitPerMinute?: number | null;
  /** Instead of one that is drawn. */
  readonly key?: string;
}

export interface SystemProject extends TestProject {
  /** A key with all scopes and no narrow rate limit. */
  client(environment: Environment, options?: KeyOptions): Promise<ApiClient>;
}

/** A built api and worker that run, as a client and an operator see them. */
export interface System {
  readonly database: TestDatabase;
  readonly baseUrl: string;
  readonly variables: Variables;
  /** A tenant of its own with one project, which is all the isolation that a test needs. */
  project(projectKey?: string): Promise<SystemProject>;
  stop(): Promise<void>;
}

/** The built api and worker on a database of their own. */
export interface RunningSystem extends System {
  readonly api: RunningProgram;
  worker: RunningProgram;
  /** Moves the clock of its database and programs, which goes on from there. */
  advanceClock(milliseconds: number): Promise<void>;
}

/** The system that all files share which need no variables of their own and stop nothing. */
export interface SharedSystem extends System {
  readonly ports: readonly number[];
  readonly bouncePort: number;
  /** The address of another api beside it, which lets a client have 5 pages a minute, and a relay post feedback 3 times. */
  secondApi(): Promise<string>;
}

export async function sharedSystem(queue: Queue = 'postgres'): Promise<SharedSystem> {
  const { databaseUrl, adminUrl, apiPort, workerPort, bouncePort, variables } =
    await askSharedSystem<SharedSystemPlace>('/system', { queue });
  const database = { ...openTestDatabase(adminUrl), url: databaseUrl };
  const baseUrl = `http://127.0.0.1:${apiPort}`;
  return {
    database,
    baseUrl,
    variables,
    ports: [apiPort, workerPort],
    bouncePort,
    secondApi: async () => `http://127.0.0.1:${await askSharedSystem<number>('/second-api', { queue })}`,
    project: (projectKey) => prepareProject(database, baseUrl, projectKey),
    stop: () => database.drop(),
  };
}

/** On which a test that does the same on each runs: those on Redis are left to the full run. */
export const QUEUES: readonly Queue[] =
  process.env['FULL'] === undefined ? ['postgres'] : ['postgres', 'redis'];

const UNHINDERED = 1_000_000;
export const SECRETS = {
  TOKEN_SECRET: 'a secret of the tests, long enough for it',
  MASTER_KEY: 'another secret of the tests, long enough',
  MEDIA_DIR: join(tmpdir(), 'mailwright-media-of-tests'),
} as const;

/** The built api and worker on a new database. */
export async function startSystem(variables: Variables = {}): Promise<RunningSystem> {
  return startSystemOn(await createTestDatabase(), variables);
}

/** The same on a database that is there already. */
export async function startSystemOn(
  database: TestDatabase,
  variables: Variables = {},
): Promise<RunningSystem> {
  const environment = { DATABASE_URL: database.url, ...SECRETS, ...variables };
  const api = await startProgram('api', environment);
  const baseUrl = `http://127.0.0.1:${api.port}`;
  const forWorker = { ...environment, PUBLIC_URL: baseUrl };
  const worker = await startProgram('worker', forWorker);
  const system: RunningSystem = {
    database,
    api,
    baseUrl,
    variables: forWorker,
    worker,
    project: (projectKey) => prepareProject(database, baseUrl, projectKey),
    advanceClock: async (milliseconds) => {
      await advanceTime(database, milliseconds);
      await Promise.all([api.readClock(), system.worker.readClock()]);
    },
    stop: async () => {
      await Promise.all([system.worker.stop(), api.stop()]);
      await database.drop();
    },
  };
  return system;
}

/** A tenant with a FREE subscription and one project. */
export async function prepareProject(
  database: TestDatabase,
  baseUrl: string,
  projectKey = 'APIT',
): Promise<SystemProject> {
  const project = await createProject(database, projectKey);
  await database.query(
    `insert into billing.subscriptions (tenant_id, plan_tier, status, billing_interval, anchored_at, created_at, updated_at)
     values ($1, 'FREE', 'ACTIVE', 'MONTHLY', now(), now(), now())`,
    [project.live.tenantId],
  );
  const scopeOf = (environment: Environment) => (environment === 'LIVE' ? project.live : project.test);
  return {
    ...project,
    client: async (environment, options) =>
      new ApiClient(baseUrl, await addKey(database, scopeOf(environment), options)),
  };
}

export async function addKey(
  database: TestDatabase,
  scope: ProjectScope,
  options: KeyOptions = {},
): Promise<string> {
  const key = options.key ?? makeApiKey(scope.environment, (max) => randomInt(max));
  const { prefix, lastFour } = displayParts(key);
  const limit = options.rateLimitPerMinute === undefined ? UNHINDERED : options.rateLimitPerMinute;
  await database.query(
    `insert into access.api_keys (id, environment_id, name, key_hash, prefix, last_four, scopes, rate_limit_per_minute, created_at)
     values ($1, $2, 'test', $3, $4, $5, $6, $7, now())`,
    [newId(), scope.environmentId, hashApiKey(key), prefix, lastFour, options.scopes ?? API_SCOPES, limit],
  );
  return key;
}
