import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import { once } from 'node:events';
import { chmod, chown, mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Client } from 'pg';
import { eventually } from '#testing/time/eventually';
import { takePort } from '#testing/programs/ports';
import { type PostgresServer, startPostgres } from './embedded-postgres.js';

const BUILT = resolve('dist/libs/platform/src/embedded-postgres/embedded-postgres.js');
const isRoot = process.getuid?.() === 0;

let home: string;
let directory: string;
const started: PostgresServer[] = [];

beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'mailwright-postgres-'));
  await chmod(home, 0o711);
  directory = join(home, 'postgres');
});

afterAll(async () => {
  await Promise.all(started.map((server) => server.stop(100)));
  await rm(home, { recursive: true, force: true });
});

async function start(options: Partial<Parameters<typeof startPostgres>[0]> = {}): Promise<PostgresServer> {
  const server = await startPostgres({ directory, ...options });
  started.push(server);
  return server;
}

async function query(server: PostgresServer, text: string): Promise<unknown[]> {
  const client = new Client({ connectionString: server.url('postgres') });
  client.on('error', () => undefined);
  await client.connect();
  try {
    return (await client.query(text)).rows;
  } finally {
    await client.end();
  }
}

/** Another process that starts a server on `path` and tells its pid. */
async function startElsewhere(
  path: string,
  ids: { uid?: number; gid?: number } = {},
): Promise<{ child: ChildProcess; server: number }> {
  const code = `
    const { startPostgres } = await import(${JSON.stringify(BUILT)});
    const server = await startPostgres({ directory: ${JSON.stringify(path)}, ephemeral: true });
    process.send(server.pid);
    process.once('message', () => server.stop().then(() => process.exit(0)));
  `;
  const child = spawn(process.execPath, ['--input-type=module', '-e', code], {
    ...ids,
    cwd: '/',
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const [server] = (await once(child, 'message')) as unknown[];
  return { child, server: Number(server) };
}

async function isRunning(pid: number): Promise<boolean> {
  const state = await readFile(`/proc/${pid}/stat`, 'utf8').then(
    (text) => text.slice(text.lastIndexOf(')') + 2, text.lastIndexOf(')') + 3),
    () => 'gone',
  );
  return state !== 'gone' && state !== 'Z';
}

describe('embedded PostgreSQL', () => {
  it('keeps its data between runs, safe from a loss of power', async () => {
    const first = await start();
    await first.ensureDatabase('shop');
    await first.ensureDatabase('shop');
    await query(first, "create table kept (word text); insert into kept values ('here')");
    expect(await query(first, 'show fsync')).toEqual([{ fsync: 'on' }]);
    expect(await query(first, 'show server_version_num')).toEqual([
      { server_version_num: expect.stringMatching(/^18/) },
    ]);
    await first.stop();
    expect(await first.exited).toBe('code 0');

    const second = await start();
    expect(await query(second, 'select word from kept')).toEqual([{ word: 'here' }]);
    await second.stop();
  });

  it('takes the first of its ports that is free', async () => {
    const [taken, free] = [await takePort(), await takePort()];
    await free.release();
    const server = await start({ preferredPorts: [taken.port, free.port] });
    expect(server.port).toBe(free.port);
    await server.stop();
    await taken.release();
  });

  it('recovers what was committed when the server is killed', async () => {
    const first = await start();
    await query(first, 'create table survivors as select generate_series(1, 1000) as n');
    process.kill(first.pid, 'SIGKILL');
    await first.exited;

    const second = await start();
    expect(await query(second, 'select count(*)::int as n from survivors')).toEqual([{ n: 1000 }]);
    await second.stop();
  });

  it('takes over from a server that still runs on the directory', async () => {
    const orphan = await start();
    await query(orphan, 'create table inherited as select 7 as n');

    const heir = await start();
    expect(await orphan.exited).toBe('code 0');
    expect(heir.pid).not.toBe(orphan.pid);
    expect(await query(heir, 'select n from inherited')).toEqual([{ n: 7 }]);
    await heir.stop();
  });

  it('starts although the process file names a program that has nothing to do with it', async () => {
    await writeFile(
      join(directory, 'postmaster.pid'),
      `${process.pid}\n${directory}\n1\n5432\n\n127.0.0.1\n\nready\n`,
    );
    const server = await start();
    expect(await query(server, 'select 1 as n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  it('says so when its port is taken', async () => {
    const other = createServer().listen(0, '127.0.0.1');
    await once(other, 'listening');
    const address = other.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    await expect(start({ port })).rejects.toThrow(
      `Port ${port}, meant for PostgreSQL, is taken by another program.`,
    );
    other.close();
  });

  it('gives a start up when it is told to', async () => {
    await expect(start({ signal: AbortSignal.abort() })).rejects.toThrow('stopped before it was ready');
  });

  it('touches no directory that holds something else', async () => {
    const photos = join(home, 'photos');
    await mkdir(photos);
    await writeFile(join(photos, 'cat.jpg'), 'miaow');
    await expect(start({ directory: photos })).rejects.toThrow('holds files, but no database');
    expect(await readFile(join(photos, 'cat.jpg'), 'utf8')).toBe('miaow');
  });

  it('says what to do about data that nobody can log in to any more', async () => {
    const locked = join(home, 'locked');
    await mkdir(locked, { mode: 0o700 });
    await writeFile(join(locked, 'PG_VERSION'), '18\n');
    if (isRoot) await chown(locked, 65_534, 65_534);
    await expect(start({ directory: locked })).rejects.toThrow(
      'superuser.password is missing, so nobody can log in to this database. Restore it from a backup',
    );
  });

  it('leaves the data of another version alone', async () => {
    const old = join(home, 'old');
    await mkdir(old);
    await writeFile(join(old, 'PG_VERSION'), '15\n');
    await expect(start({ directory: old })).rejects.toThrow(
      'was made by PostgreSQL 15, this is PostgreSQL 18',
    );
  });

  it('begins anew where the making of a database was interrupted', async () => {
    const half = join(home, 'half');
    await mkdir(`${half}.new/base`, { recursive: true });
    const server = await start({ directory: half, ephemeral: true });
    expect(await query(server, 'select 1 as n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  it('ends when the process that started it is killed', async () => {
    const { child, server } = await startElsewhere(join(home, 'half'));
    expect(await isRunning(server)).toBe(true);
    child.kill('SIGKILL');
    await eventually('the server is gone', async () => !(await isRunning(server)));
  });

  it('runs below a directory that only we may enter', async () => {
    const closed = join(home, 'closed');
    await mkdir(closed, { mode: 0o700 });
    const server = await start({ directory: join(closed, 'data', 'postgres'), ephemeral: true });
    expect(await query(server, 'select 1 as n')).toEqual([{ n: 1 }]);
    await server.stop();
  });

  (isRoot ? it : it.skip)(
    'runs for a user who is not root, and as the owner of the project for root',
    async () => {
      const [uid, gid] = ['-u', '-g'].map((flag) =>
        Number(execFileSync('id', [flag, 'nobody'], { encoding: 'utf8' })),
      );
      const project = join(home, 'project');
      await mkdir(project);
      await chown(project, uid ?? 0, gid ?? 0);
      const ofUser = await startElsewhere(join(project, '.data', 'postgres'), { uid, gid });
      ofUser.child.send('stop');
      expect(await once(ofUser.child, 'exit')).toEqual([0, null]);

      const server = await start({ directory: join(project, '.data', 'postgres'), ephemeral: true });
      expect(await readFile(`/proc/${server.pid}/status`, 'utf8')).toMatch(
        new RegExp(`^Uid:\\t${uid}\\t`, 'm'),
      );
      await server.stop();
    },
  );
});
