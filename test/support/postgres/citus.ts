import { execFile, execFileSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { distribute } from '../../../libs/platform/src/database/distribution.js';
import { migrate } from '../../../libs/platform/src/database/migrations.js';
import { freePort } from '../programs/ports.js';

const run = promisify(execFile);

/** A PostgreSQL with Citus. */
export interface CitusNode {
  /** Its URL by the superuser, without a database. */
  readonly server: string;
  /** The immediate shutdown: nothing is written down. */
  crash(): Promise<void>;
  start(): Promise<void>;
}

/** A coordinator and two workers. */
export interface CitusCluster {
  /** The coordinator first. */
  readonly nodes: readonly CitusNode[];
  stop(): Promise<void>;
}

/** Directory of the programs, or of the extensions, of the PostgreSQL that `pg_config` belongs to. */
function postgresDirectory(which: 'bindir' | 'pkglibdir'): string {
  return execFileSync('pg_config', [`--${which}`], { encoding: 'utf8' }).trim();
}

/** Throws where `pg_config` is missing, or Citus beside its PostgreSQL. */
export function refuseWithoutCitus(): void {
  const library = join(postgresDirectory('pkglibdir'), 'citus.so');
  if (!existsSync(library)) throw new Error(`Citus is not installed: there is no ${library}.`);
}

/**
 * Starts one whose data is below `parent`, which the server's user may enter. Whoever asks is let in: its nodes are only on
 * 127.0.0.1, and gone with the suite.
 */
export async function startCitus(parent = tmpdir()): Promise<CitusCluster> {
  refuseWithoutCitus();
  const directory = await mkdtemp(join(parent, 'mailwright-citus-'));
  // The server refuses to run as root.
  await chmod(directory, 0o777);
  const nodes: CitusNode[] = [];
  for (const name of ['coordinator', 'first', 'second']) nodes.push(await startNode(join(directory, name)));
  return {
    nodes,
    stop: async () => {
      await Promise.all(nodes.map((node) => node.crash()));
      await rm(directory, { recursive: true });
    },
  };
}

async function startNode(directory: string): Promise<CitusNode> {
  const port = await freePort();
  await postgres('initdb', ['-D', directory, '-U', 'postgres', '-A', 'trust', '--no-sync']);
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    shared_preload_libraries: 'citus',
    'citus.shard_count': 4,
    max_prepared_transactions: 200,
    max_connections: 400,
    // Citus has a process for each database, which takes one.
    max_worker_processes: 64,
    // Data that the operating system holds outlasts a crash of the server; only a power cut would lose it.
    fsync: 'off',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(directory, 'postgresql.conf'), lines.join(''));
  const start = () => postgres('pg_ctl', ['-D', directory, '-l', `${directory}.log`, '-w', 'start']);
  await start();
  return {
    server: `postgres://postgres@127.0.0.1:${port}`,
    crash: () => postgres('pg_ctl', ['-D', directory, '-m', 'immediate', 'stop']),
    start,
  };
}

/**
 * Makes a database on the cluster of these servers, the coordinator first, migrated and distributed, in some 15 s. Resolves to its
 * URL by the superuser; `login` is what its programs work as.
 */
export async function createCitusDatabase(
  servers: readonly string[],
  name: string,
  login: string,
): Promise<string> {
  for (const server of servers) {
    await query(`${server}/postgres`, `create database ${name}`);
    await query(`${server}/${name}`, 'create extension citus');
  }
  const [coordinator = '', ...workers] = servers;
  const url = `${coordinator}/${name}`;
  const introduce = (statement: string, server: string) =>
    query(url, statement, [Number(new URL(server).port)]);
  await introduce(`select citus_set_coordinator_host('127.0.0.1', $1)`, coordinator);
  for (const worker of workers) await introduce(`select citus_add_node('127.0.0.1', $1)`, worker);
  await migrate(url, url.replace(/\/\/[^@]*@/, `//${login}@`));
  await distribute(url);
  return url;
}

/** Makes one that `copyCitusTemplate` copies: nobody connects to it any more, Citus itself neither. */
export async function createCitusTemplate(
  servers: readonly string[],
  name: string,
  login: string,
): Promise<void> {
  const url = await createCitusDatabase(servers, name, login);
  await giveToOwner(servers, url);
  for (const server of servers) {
    await query(`${server}/postgres`, `alter database ${name} allow_connections false`);
    await query(
      `${server}/postgres`,
      'select pg_terminate_backend(pid) from pg_stat_activity where datname = $1',
      [name],
    );
  }
}

const OURS = `'platform', 'access', 'audience', 'billing', 'messaging', 'deliverability', 'webhooks'`;

/** Only a superuser can migrate a cluster; the tables get the owner that they have elsewhere, on whom row-level security is forced. */
async function giveToOwner(servers: readonly string[], url: string): Promise<void> {
  for (const server of servers) await query(`${server}/postgres`, 'create role schema_owner login');
  const statements = await query<{ text: string }>(
    url,
    `select format('grant usage, create on schema %I to schema_owner', nspname) as text from pg_namespace where nspname in (${OURS})
     union all select 'grant mailwright_owner to schema_owner'
     union all select format('alter table %s owner to schema_owner', c.oid::regclass) from pg_class c
     where c.relnamespace::regnamespace::text in (${OURS}) and c.relkind in ('r', 'p') and not c.relispartition`,
  );
  // Each by itself: Citus changes one of two that refer to each other in a transaction.
  for (const { text } of statements) await query(url, text);
}

/** Makes a database from the template on each node, in some 1 s: what a node knows of the others stands in the database itself. */
export async function copyCitusTemplate(
  servers: readonly string[],
  template: string,
  name: string,
): Promise<string> {
  await Promise.all(servers.map((server) => copyDatabase(`${server}/postgres`, template, name)));
  return `${servers[0] ?? ''}/${name}`;
}

/** With the settings of the database, which PostgreSQL itself leaves behind. */
async function copyDatabase(url: string, template: string, name: string): Promise<void> {
  await query(url, `create database ${name} template ${template}`);
  const settings = await query<{ statement: string }>(
    url,
    `select format('alter database ${name} set %s = %L', split_part(setting, '=', 1), split_part(setting, '=', 2)) as statement
     from pg_db_role_setting s join pg_database d on d.oid = s.setdatabase, unnest(s.setconfig) setting
     where d.datname = $1 and s.setrole = 0`,
    [template],
  );
  for (const { statement } of settings) await query(url, statement);
}

/** One of PostgreSQL's own programs, as the user that Debian made for it where this one is root. */
async function postgres(program: string, args: readonly string[]): Promise<void> {
  const file = join(postgresDirectory('bindir'), program);
  const isRoot = process.getuid?.() === 0;
  await (isRoot ? run('runuser', ['-u', 'postgres', '--', file, ...args]) : run(file, [...args]));
}

export async function query<Row extends pg.QueryResultRow>(
  url: string,
  text: string,
  values: readonly unknown[] = [],
): Promise<Row[]> {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  try {
    return (await client.query<Row>(text, [...values])).rows;
  } finally {
    await client.end();
  }
}
