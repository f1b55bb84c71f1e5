import { createReadStream } from 'node:fs';
import { chmod, mkdtemp, readdir, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { migrate } from '../../../libs/platform/src/database/migrations.js';
import {
  type PostgresServer,
  startPostgres,
} from '../../../libs/platform/src/embedded-postgres/embedded-postgres.js';
import { openTestDatabase, type TestDatabase } from './database.js';
import { type RunningSystem, startSystemOn } from '../programs/system.js';

/** A statement that was run, and how many rows PostgreSQL touched for it, those included that it threw away. */
export interface WatchedStatement {
  /** When it ended. */
  readonly at: Date;
  /** The name of the program that ran it. */
  readonly program: string;
  readonly text: string;
  /** As PostgreSQL shows them: `$1 = '7', $2 = …`. */
  readonly parameters: string;
  readonly rows: number;
  /** The most that one part of its plan touched, in all its loops. */
  readonly widest: number;
  /** Pages that were read, from wherever they came, as often as they were. */
  readonly pages: number;
  readonly plan: PlanNode;
}

/** Node of a plan, as EXPLAIN (ANALYZE, FORMAT JSON) shows it. */
interface PlanNode {
  readonly [figure: string]: unknown;
  readonly Plans?: readonly PlanNode[];
}

interface LogEntry {
  readonly timestamp: string;
  readonly application_name?: string;
  readonly message?: string;
}

const DATABASE = 'watched';
const PLAN = /^duration: [\d.]+ ms {2}plan:\n/;
const SETTINGS = {
  autovacuum: 'off',
  log_destination: 'jsonlog',
  logging_collector: 'on',
  log_file_mode: '0644',
  log_rotation_size: '0',
  log_timezone: 'UTC',
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_buffers': 'on',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_parameter_max_length': '50',
} as const;

/**
 * A PostgreSQL of a test's own that tells what statements cost in rows, which no load of the machine changes. It
 * gathers statistics only when a test says so.
 */
export class WatchedPostgres {
  #server: PostgresServer | null = null;

  private constructor(private readonly directory: string) {}

  static async open(): Promise<WatchedPostgres> {
    const directory = await mkdtemp(join(tmpdir(), 'mailwright-watched-'));
    await chmod(directory, 0o711); // PostgreSQL runs as another user when the tests run as root
    const postgres = new WatchedPostgres(directory);
    const server = await postgres.#start();
    await server.ensureDatabase(DATABASE);
    await migrate(server.url(DATABASE));
    const database = postgres.database();
    for (const [name, value] of Object.entries(SETTINGS))
      await database.query(`alter system set ${name} = '${value}'`);
    await database.drop();
    await server.stop();
    await postgres.#start();
    return postgres;
  }

  database(): TestDatabase {
    if (this.#server === null) throw new Error('The server is not running.');
    return openTestDatabase(this.#server.url(DATABASE));
  }

  /** From now on every statement is noted, or none. */
  async watch(database: TestDatabase, isWatched: boolean): Promise<void> {
    await database.query(`alter system set auto_explain.log_min_duration = ${isWatched ? 0 : -1}`);
    await database.query('select pg_reload_conf()');
  }

  /** Noted statements that ended after a moment, one after the other: there may be very many. */
  async *statements(from: Date): AsyncGenerator<WatchedStatement> {
    const begin = `{"timestamp":"${from.toISOString().replace('T', ' ').replace('Z', '')}`;
    const logs = join(this.directory, 'postgres', 'log');
    for (const file of (await readdir(logs)).filter((each) => each.endsWith('.json')).sort()) {
      for await (const line of createInterface({ input: createReadStream(join(logs, file)) })) {
        // A log of gigabytes is read once for each step: what ended before costs a comparison.
        if (line.slice(0, begin.length) <= begin || !line.includes(' ms  plan:')) continue;
        const statement = statementOf(line);
        if (statement !== null) yield statement;
      }
    }
  }

  async close(): Promise<void> {
    await this.#server?.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  async #start(): Promise<PostgresServer> {
    this.#server = await startPostgres({ directory: join(this.directory, 'postgres'), ephemeral: true });
    return this.#server;
  }
}

/** The built api and worker on such a PostgreSQL. */
export interface WatchedSystem {
  readonly postgres: WatchedPostgres;
  readonly database: TestDatabase;
  readonly system: RunningSystem;
  stop(): Promise<void>;
}

export async function startWatchedSystem(): Promise<WatchedSystem> {
  const postgres = await WatchedPostgres.open();
  const database = postgres.database();
  const system = await startSystemOn(database);
  const stop = async () => {
    await system.worker.stop();
    await system.api.stop();
    await database.drop();
    await postgres.close();
  };
  return { postgres, database, system, stop };
}

function statementOf(line: string): WatchedStatement | null {
  const entry = JSON.parse(line) as LogEntry;
  const { message = '', application_name: program = '', timestamp } = entry;
  if (!PLAN.test(message)) return null;
  const told = JSON.parse(message.replace(PLAN, '')) as Record<string, unknown> & { Plan: PlanNode };
  return {
    at: new Date(timestamp.replace(' UTC', 'Z').replace(' ', 'T')),
    program,
    text: String(told['Query Text']),
    parameters: typeof told['Query Parameters'] === 'string' ? told['Query Parameters'] : '',
    rows: rowsOf(told.Plan),
    widest: Math.max(...nodesOf(told.Plan).map(ownRowsOf)),
    pages: Number(told.Plan['Shared Hit Blocks'] ?? 0) + Number(told.Plan['Shared Read Blocks'] ?? 0),
    plan: told.Plan,
  };
}

/** The parts of a plan that gave more than so many rows, and how many. */
export function muchReadBy({ plan }: WatchedStatement, rows: number): string {
  return nodesOf(plan)
    .map((node) => ({ node, given: Number(node['Actual Rows']) * Number(node['Actual Loops']) }))
    .filter(({ given }) => given > rows)
    .map(({ node, given }) =>
      [node['Node Type'], node['Index Name'] ?? node['Relation Name'] ?? '', Math.round(given)].join(' '),
    )
    .join(', ');
}

const nodesOf = (node: PlanNode): readonly PlanNode[] => [node, ...(node.Plans ?? []).flatMap(nodesOf)];

/** Rows of the node and all below it. */
const rowsOf = (node: PlanNode): number => nodesOf(node).reduce((sum, each) => sum + ownRowsOf(each), 0);

/** Rows that a node gave and those that it threw away, for all its loops. */
function ownRowsOf(node: PlanNode): number {
  const figures = Object.entries(node).filter(
    ([name]) => name === 'Actual Rows' || name.startsWith('Rows Removed by'),
  );
  return figures.reduce((sum, [, value]) => sum + Number(value), 0) * Number(node['Actual Loops'] ?? 0);
}
