import { type ChildProcess, execFile, spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, readlink, rm, stat, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { ApiClient } from '#testing/api-client';
import { eventually } from '#testing/eventually';
import { takePort } from '#testing/ports';

interface Demo {
  readonly baseUrl: string;
  readonly projectKey: string;
  readonly testKey: string;
  readonly liveKey: string;
}

/** What the programs read, as the image has it. */
const PARTS = ['assets', 'dist', 'docs', 'locales', 'migrations', 'package.json', 'packages', 'templates'];

const { NODE_COMPILE_CACHE } = process.env;

/** `npm start` as on a fresh machine: the built program in a directory of its own, with nothing around it. */
describe('npm start', () => {
  let directory: string;
  let launcher: ChildProcess | undefined;
  const taken: Awaited<ReturnType<typeof takePort>>[] = [];

  beforeAll(async () => {
    directory = await mkdtemp(join(tmpdir(), 'mailwright-start-'));
    const root = projectRoot();
    for (const part of PARTS) await cp(join(root, part), join(directory, part), { recursive: true });
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
    // Taken by somebody else, if not by us.
    for (const port of [3000, 5432, 6379])
      await takePort(port).then(
        (server) => taken.push(server),
        () => undefined,
      );
  });

  afterAll(async () => {
    (await processesIn(directory)).forEach(kill);
    await Promise.all(taken.map((server) => server.release()));
    await rm(directory, { recursive: true, force: true, maxRetries: 20 });
  });

  async function start(): Promise<Demo> {
    let output = '';
    launcher = spawn(process.execPath, ['dist/apps/launcher/src/main.js'], {
      cwd: directory,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    for (const stream of [launcher.stdout, launcher.stderr])
      stream?.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await eventually('the walk-through is printed', () => output.includes('Ctrl-C stops it')).catch(() => {
      throw new Error(output);
    });
    return JSON.parse(await readFile(join(directory, '.data/demo.json'), 'utf8')) as Demo;
  }

  const topicsOf = async ({ baseUrl, testKey }: Demo) =>
    (await new ApiClient(baseUrl, testKey).get('/topics')).at<
      { topicKey: string; doubleOptInEnabled: boolean }[]
    >('data');

  it('runs beside programs that have taken the usual ports, with a demo project and its keys', async () => {
    const demo = await start();
    expect(demo).toMatchObject({
      projectKey: 'DEMO',
      testKey: expect.stringMatching(/^mw_test_/),
      liveKey: expect.stringMatching(/^mw_live_/),
    });
    expect((await stat(join(directory, '.data/demo.json'))).mode & 0o777).toBe(0o600);
    expect((await topicsOf(demo)).filter(({ doubleOptInEnabled }) => doubleOptInEnabled)).toHaveLength(1);
    expect(new Set(await readdir(directory))).toEqual(new Set([...PARTS, '.data', 'node_modules']));
  });

  it('is what the operator’s program works on in its directory', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['dist/apps/cli/src/main.js', 'key:list', '--json'],
      { cwd: directory, env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE } },
    );
    expect(stdout.match(/"projectKey":"DEMO"/g)).toHaveLength(2);
  });

  it('keeps all data when every process is killed at once', async () => {
    const before = JSON.parse(await readFile(join(directory, '.data/demo.json'), 'utf8')) as Demo;
    const client = new ApiClient(before.baseUrl, before.testKey);
    const [topic] = await topicsOf(before);
    const created = await client.post('/subscribers', {
      email: 'ada@example.com',
      topicKeys: [topic?.topicKey],
      consent: { source: 'test' },
    });
    expect(created.status).toBe(201);
    const processes = await processesIn(directory);
    expect(processes.length).toBeGreaterThan(3);
    processes.forEach(kill);
    await eventually('all are gone', async () => (await processesIn(directory)).length === 0);

    const after = await start();
    expect([after.testKey, after.liveKey]).toEqual([before.testKey, before.liveKey]);
    const kept = await new ApiClient(after.baseUrl, after.testKey).get('/subscribers/ada%40example.com');
    expect(kept.at('id')).toBe(created.at('id'));
  });

  it('stops all of it within five seconds on Ctrl-C', async () => {
    launcher?.kill('SIGINT');
    await eventually('nothing is left', async () => (await processesIn(directory)).length === 0);
  });
});

/** SIGKILL to a process, which may have ended since it was found, as PostgreSQL's do with their parent. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Every process whose working directory or command line lies in the directory. */
async function processesIn(directory: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [cwd, command] = await Promise.all([
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      ]);
      return cwd.startsWith(directory) || command.includes(directory) ? [pid] : [];
    }),
  );
  return found.flat();
}
