import { execFile } from 'node:child_process';
import { appendFile, chmod, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import pg from 'pg';
import { freePort } from '#testing/ports';
import { postgresDirectory } from '../parts.js';

const run = promisify(execFile);

export const DATABASE = 'mailwright';

/** A PostgreSQL with Citus. */
export interface CitusNode {
  readonly port: number;
  /** By its superuser. */
  readonly url: string;
}

/** A coordinator and two workers, with an empty database. */
export interface CitusCluster {
  readonly coordinator: CitusNode;
  readonly workers: readonly CitusNode[];
  stop(): Promise<void>;
}

/** Whoever asks is let in: the nodes of this cluster are only on 127.0.0.1, and gone with the suite. */
export async function startCitus(): Promise<CitusCluster> {
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-citus-'));
  // The server refuses to run as root.
  await chmod(directory, 0o777);
  const names = ['coordinator', 'first', 'second'].map((name) => join(directory, name));
  const nodes: CitusNode[] = [];
  for (const name of names) nodes.push(await startNode(name));
  const [coordinator, ...workers] = nodes as [CitusNode, ...CitusNode[]];
  await query(coordinator.url, `select citus_set_coordinator_host('127.0.0.1', $1)`, [coordinator.port]);
  for (const { port } of workers)
    await query(coordinator.url, `select citus_add_node('127.0.0.1', $1)`, [port]);
  return {
    coordinator,
    workers,
    stop: async () => {
      await Promise.all(names.map((name) => postgres('pg_ctl', ['-D', name, '-m', 'immediate', 'stop'])));
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
    max_prepared_transactions: 100,
    fsync: 'off',
  };
  const lines = Object.entries(settings).map(([name, value]) => `${name} = '${value}'\n`);
  await appendFile(join(directory, 'postgresql.conf'), lines.join(''));
  await postgres('pg_ctl', ['-D', directory, '-l', `${directory}.log`, '-w', 'start']);
  const server = `postgres://postgres@127.0.0.1:${port}`;
  await query(`${server}/postgres`, `create database ${DATABASE}`);
  await query(`${server}/${DATABASE}`, 'create extension citus');
  return { port, url: `${server}/${DATABASE}` };
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
