import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { cp, mkdir, mkdtemp, readFile, rm, stat, symlink, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { freePort, takePort } from '#testing/programs/ports';

/** Says its pid at /pid, crashes at /crash; heeds no SIGTERM when STUBBORN. */
const PROGRAM = (name: string) => `
  import { createServer } from 'node:http';
  import { writeFileSync } from 'node:fs';
  import { watchParent } from '#platform/supervisor';
  watchParent(() => process.exit(0));
  process.on('SIGTERM', () => process.env.STUBBORN === '${name}' || process.exit(0));
  writeFileSync('${name}.pid', String(process.pid));
  writeFileSync('${name}.env', JSON.stringify(process.env));
  const server = createServer((request, response) => {
    if (request.url === '/crash') process.exit(3);
    response.end('{}');
  });
  server.listen('${name}' === 'api' ? Number(process.env.PORT) : 0, '127.0.0.1', () =>
    process.send({ type: 'listening', port: server.address().port }));
`;
const CLI = `
  import { existsSync, writeFileSync } from 'node:fs';
  if (process.argv[2] === 'demo:seed') {
    const created = !existsSync('seeded');
    const make = created || process.argv.includes('--renew-keys');
    writeFileSync('seeded', '');
    const key = (environment) => (make ? 'mw_' + environment + '_' + process.pid : null);
    console.log(JSON.stringify({ created, projectKey: 'DEMO', testKey: key('test'), liveKey: key('live'),
      topics: { doubleOptIn: 'DEMO-1', singleOptIn: 'DEMO-2' } }));
  }
`;
const IMPORTS = {
  '#platform/embedded-postgres': './dist/libs/platform/src/embedded-postgres/embedded-postgres.js',
  '#platform/supervisor': './dist/libs/platform/src/lifecycle/supervisor.js',
  '#kernel': './dist/libs/kernel/src/index.js',
};

const { PATH, NODE_COMPILE_CACHE } = process.env;

let home: string;
const running: ChildProcess[] = [];

/** The built launcher, with an api, a worker and a CLI of the test's own beside it. */
beforeAll(async () => {
  home = await mkdtemp(join(tmpdir(), 'mailwright-launcher-'));
  for (const part of ['dist/apps/launcher', 'dist/libs/kernel', 'dist/libs/platform'])
    await cp(resolve(part), join(home, part), { recursive: true });
  await symlink(resolve('node_modules'), join(home, 'node_modules'));
  await writeFile(join(home, 'package.json'), JSON.stringify({ type: 'module', imports: IMPORTS }));
  for (const [name, code] of Object.entries({ api: PROGRAM('api'), worker: PROGRAM('worker'), cli: CLI })) {
    await mkdir(join(home, 'dist/apps', name, 'src'), { recursive: true });
    await writeFile(join(home, 'dist/apps', name, 'src/main.js'), code);
  }
});

afterEach(() => {
  for (const launcher of running.splice(0)) if (launcher.exitCode === null) launcher.kill('SIGKILL');
});

afterAll(async () => {
  await rm(home, { recursive: true, force: true, maxRetries: 20, retryDelay: 200 });
});

async function launch(directory: string, env: NodeJS.ProcessEnv = {}, ...args: string[]) {
  const cwd = join(home, directory);
  await mkdir(join(cwd, '.data'), { recursive: true });
  // The usual ones may be another launcher's between two starts.
  const ports = join(cwd, '.data/ports.json');
  if (!existsSync(ports)) await writeFile(ports, JSON.stringify({ postgres: await freePort() }));
  const child = spawn(process.execPath, [join(home, 'dist/apps/launcher/src/main.js'), ...args], {
    cwd,
    env: { PATH, NODE_COMPILE_CACHE, PORT: String(await freePort()), ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  running.push(child);
  let output = '';
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
  const exited = once(child, 'exit');
  /** When all that it said has come, too. */
  const closed = once(child, 'close');
  const ready = () =>
    eventually('it runs', () => output.includes('Ctrl-C stops it.') || (child.exitCode !== null && output));
  return { child, cwd, exited, closed, ready, output: () => output };
}

const fileOf = (cwd: string, name: string) => readFile(join(cwd, name), 'utf8');
const demoOf = async (cwd: string): Promise<Record<string, string>> =>
  JSON.parse(await fileOf(cwd, '.data/demo.json'));
const pidOf = async (cwd: string, name: string) => Number((await fileOf(cwd, name)).split('\n')[0]);
const allPids = (cwd: string) =>
  Promise.all(['api.pid', 'worker.pid', '.data/postgres/postmaster.pid'].map((name) => pidOf(cwd, name)));

function isAlive(pid: number): boolean {
  try {
    return process.kill(pid, 0);
  } catch {
    return false;
  }
}

/** Tests that need a PostgreSQL run in one directory, one after the other: a new one takes long to make. */
describe('the launcher', () => {
  it('starts all of it, shows new keys once, and keeps data, keys and secrets for the next start', async () => {
    const first = await launch('kept');
    await first.ready();
    const demo = await demoOf(first.cwd);
    expect(first.output()).toContain(`test  ${demo['testKey']}\n  live  ${demo['liveKey']}\n`);
    expect(first.output()).toContain(`API=${demo['baseUrl']}/api/v1\nKEY=${demo['testKey']}\n`);
    expect((await stat(join(first.cwd, '.data/demo.json'))).mode & 0o777).toBe(0o600);
    const environment = JSON.parse(await fileOf(first.cwd, 'worker.env'));
    first.child.kill('SIGINT');
    expect(await first.exited).toEqual([0, null]);

    const second = await launch('kept');
    await second.ready();
    expect(second.output()).not.toContain('live  mw_live');
    const after = await demoOf(second.cwd);
    expect(after).toEqual({ ...demo, baseUrl: expect.stringMatching(/^http:\/\/localhost:\d+$/) });
    expect(await fetch(`${after['baseUrl']}/`).then(({ status }) => status)).toBe(200);
    const again = JSON.parse(await fileOf(second.cwd, 'worker.env'));
    expect(new URL(again['DATABASE_URL']).username).toBe('mailwright');
    expect(again).not.toHaveProperty('DATABASE_OWNER_URL');
    for (const name of ['DATABASE_URL', 'TOKEN_SECRET', 'MASTER_KEY'])
      expect(again[name]).toBe(environment[name]);
    expect(JSON.parse(await fileOf(second.cwd, '.data/ports.json'))).toEqual({
      postgres: Number(new URL(again['DATABASE_URL']).port),
      publicUrl: again['PUBLIC_URL'],
      privateAddresses: true,
    });
    second.child.kill('SIGTERM');
    expect(await second.exited).toEqual([0, null]);
  });

  it('starts a crashed api again on the same port, and says so', async () => {
    const launcher = await launch('crash', { DATABASE_URL: 'postgres://localhost/none' });
    await launcher.ready();
    const { baseUrl } = await demoOf(launcher.cwd);
    await fetch(`${baseUrl}/crash`).catch(() => undefined);
    await eventually('the api runs again', () => launcher.output().includes('API runs again.'));
    expect(launcher.output()).toContain(
      'API ended unexpectedly (exit code 3). It is started again in 0.5 s.',
    );
    expect(await fetch(`${baseUrl}/`).then(({ status }) => status)).toBe(200);
  });

  it('stops everything on Ctrl-C, even a worker that does not heed', async () => {
    const launcher = await launch('kept', { STUBBORN: 'worker' });
    await launcher.ready();
    const pids = await allPids(launcher.cwd);
    expect(pids.map(isAlive)).toEqual([true, true, true]);
    launcher.child.kill('SIGINT');
    expect(await launcher.exited).toEqual([0, null]);
    expect(pids.map(isAlive)).toEqual([false, false, false]);
  });

  it('ends everything when Ctrl-C is pressed again', async () => {
    const launcher = await launch('kept', { STUBBORN: 'worker' });
    await launcher.ready();
    const pids = await allPids(launcher.cwd);
    await eventually(
      'it has ended',
      () => launcher.child.exitCode !== null || (launcher.child.kill('SIGINT') && null),
    );
    await eventually('all of it is gone', () => !pids.some(isAlive));
  });

  it('leaves no process behind when it is killed, and starts again on the same data', async () => {
    const launcher = await launch('kept');
    await launcher.ready();
    const pids = await allPids(launcher.cwd);
    const demo = await demoOf(launcher.cwd);
    launcher.child.kill('SIGKILL');
    await launcher.exited;

    const next = await launch('kept');
    await next.ready();
    await eventually('the old processes are gone', () => !pids.some(isAlive));
    expect(await demoOf(next.cwd)).toMatchObject({ testKey: demo['testKey'] });
    const nextPids = await allPids(next.cwd);
    next.child.kill('SIGKILL');
    await eventually('the new processes are gone too', () => !nextPids.some(isAlive));
  });

  it('runs once in a directory', async () => {
    const env = { DATABASE_URL: 'postgres://localhost/none' };
    const first = await launch('twice', env);
    await first.ready();
    const second = await launch('twice', env);
    expect(await second.closed).toEqual([1, null]);
    expect(second.output()).toContain(
      `Mailwright already runs in this directory (process ${first.child.pid}).`,
    );
    expect(first.child.exitCode).toBeNull();
  });

  it('starts no PostgreSQL when it is given one, and no demo when none is wanted', async () => {
    const launcher = await launch('given', { DATABASE_URL: 'postgres://localhost/none' }, '--no-demo');
    await launcher.ready();
    expect(JSON.parse(await fileOf(launcher.cwd, 'api.env'))).toMatchObject({
      DATABASE_URL: 'postgres://localhost/none',
    });
    await expect(stat(join(launcher.cwd, '.data/postgres'))).rejects.toThrow('ENOENT');
    await expect(stat(join(launcher.cwd, '.data/demo.json'))).rejects.toThrow('ENOENT');
  });

  it('says so when its port is taken, and takes another than 3000 when that is', async () => {
    const env = { DATABASE_URL: 'postgres://localhost/none' };
    const taken = await takePort();
    const refused = await launch('taken', { ...env, PORT: String(taken.port) });
    expect(await refused.closed).toEqual([1, null]);
    expect(refused.output()).toContain(`Port ${taken.port}, asked for as the port of the API, is taken`);
    await taken.release();

    const usual = await usualPort();
    const other = await launch('taken', { ...env, PORT: '' });
    await other.ready();
    expect(new URL((await demoOf(other.cwd))['baseUrl'] ?? '').port).not.toBe('3000');
    await usual?.release();
  });

  /** Port 3000, once another test has given it back; null when a program has it for good, which serves as well. */
  const usualPort = () =>
    eventually('port 3000 is free', () => takePort(3000).catch(() => null)).catch(() => null);
});
