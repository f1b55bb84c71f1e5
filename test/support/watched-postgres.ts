import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { migrate } from '../../libs/platform/src/database/migrations.js';
import {
  type PostgresServer,
  startPostgres,
} from '../../libs/platform/src/embedded-postgres/embedded-postgres.js';
import { openTestDatabase, type TestDatabase } from './database.js';

/** A statement that was run, and how many rows PostgreSQL touched for it, those included that it threw away. */
export interface WatchedStatement {
  readonly during: string;
  readonly text: string;
  readonly parameters: string;
  readonly rows: number;
  readonly milliseconds: number;
  readonly plan: PlanNode;
}

/** What EXPLAIN (ANALYZE, FORMAT JSON) says of a node, as far as it is of interest here. */
interface PlanNode {
  readonly [figure: string]: unknown;
  readonly Plans?: readonly PlanNode[];
}

const DATABASE = 'watched';
const BEGIN = /LOG: {2}duration: ([\d.]+) ms {2}plan:$/;
const SETTINGS = {
  autovacuum: 'off',
  shared_preload_libraries: 'auto_explain',
  'auto_explain.log_analyze': 'on',
  'auto_explain.log_timing': 'off',
  'auto_explain.log_nested_statements': 'on',
  'auto_explain.log_format': 'json',
  'auto_explain.log_parameter_max_length': '200',
} as const;

/**
 * A PostgreSQL of a test's own that tells what statements cost in rows, which no load of the machine changes. It
 * gathers statistics only when a test says so.
 */
export class WatchedPostgres {
  readonly statements: WatchedStatement[] = [];
  during = 'the beginning';
  #open: { readonly milliseconds: number; readonly lines: string[] } | null = null;
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

  /** From now on notes what takes longer than so many milliseconds; null for nothing. */
  async watch(database: TestDatabase, longerThanMs: number | null): Promise<void> {
    await database.query(`alter system set auto_explain.log_min_duration = ${longerThanMs ?? -1}`);
    await database.query('select pg_reload_conf()');
  }

  async close(): Promise<void> {
    await this.#server?.stop();
    await rm(this.directory, { recursive: true, force: true });
  }

  async #start(): Promise<PostgresServer> {
    this.#server = await startPostgres({
      directory: join(this.directory, 'postgres'),
      ephemeral: true,
      onLog: (line) => this.#read(line),
    });
    return this.#server;
  }

  /** Further lines of an entry of the log begin with a tab. */
  #read(line: string): void {
    if (this.#open !== null && line.startsWith('\t')) {
      this.#open.lines.push(line);
      return;
    }
    this.#finish();
    const begins = BEGIN.exec(line);
    if (begins !== null) this.#open = { milliseconds: Number(begins[1]), lines: [] };
  }

  #finish(): void {
    if (this.#open === null) return;
    const { milliseconds, lines } = this.#open;
    this.#open = null;
    const entry = JSON.parse(lines.join('\n')) as Readonly<Record<string, unknown>> & { Plan: PlanNode };
    this.statements.push({
      during: this.during,
      text: String(entry['Query Text']),
      parameters: String(entry['Query Parameters'] ?? ''),
      rows: rowsOf(entry.Plan),
      milliseconds,
      plan: entry.Plan,
    });
  }
}

/** Of the node and all below it: the rows that each gave and those that it threw away, for all its loops. */
function rowsOf(node: PlanNode): number {
  const loops = Number(node['Actual Loops'] ?? 0);
  const figures = Object.entries(node).filter(
    ([name]) => name === 'Actual Rows' || name.startsWith('Rows Removed by'),
  );
  const own = figures.reduce((sum, [, value]) => sum + Number(value) * loops, 0);
  return (node.Plans ?? []).reduce((sum, inner) => sum + rowsOf(inner), own);
}
