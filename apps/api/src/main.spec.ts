import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import pg from 'pg';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { isWaitingForLock } from '#testing/postgres/lock-waits';
import { createProject } from '#testing/fixtures/fixtures';
import { isListening, takePort } from '#testing/programs/ports';
import { KNOWN_MODULES, type RunningProgram, startProgram } from '#testing/programs/program';
import { addKey } from '#testing/programs/system';

describe('The api’s process', () => {
  let test: TestDatabase;
  let key: string;

  beforeAll(async () => {
    test = await createTestDatabase();
    key = await addKey(test, (await createProject(test)).test);
  });

  afterAll(() => test.drop());

  const start = (environment: Record<string, string> = {}) =>
    startProgram('api', { DATABASE_URL: test.url, ...environment });
  const getProject = ({ port }: RunningProgram) =>
    fetch(`http://127.0.0.1:${port}/api/v1/project`, { headers: { 'x-api-key': key } });

  it('says at the terminal where it listens when it was started by hand', async () => {
    const program = spawn(process.execPath, [...KNOWN_MODULES, 'dist/apps/api/src/main.js'], {
      env: {
        NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'],
        DATABASE_URL: test.url,
        PORT: '0',
        LOG_LEVEL: 'warn',
      },
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    try {
      const [line] = (await once(createInterface(program.stdout), 'line')) as string[];
      const url = /^api listening on (http:\/\/127\.0\.0\.1:\d+)$/.exec(line ?? '')?.[1];
      expect((await fetch(`${url}/health/live`)).status).toBe(200);
    } finally {
      program.kill('SIGTERM');
      await once(program, 'exit');
    }
  });

  it('says where it listens to who started it, and uses that address in its answers; told to stop, it finishes the requests that run', async () => {
    const api = await start({ SHUTDOWN_TIMEOUT_MS: '300000' });
    expect(api.output()).toBe('');
    const answer = await fetch(`http://127.0.0.1:${api.port}/api/v1/project`);
    expect(await answer.json()).toMatchObject({ type: `http://localhost:${api.port}/problems/unauthorized` });
    await withLockedProjects(test, async (release) => {
      const running = getProject(api);
      await eventually('the request waits', () => isWaitingForLock(test));
      const stopped = api.stop();
      await eventually('it takes no new connection', async () => !(await isListening(api.port)));
      await release();
      expect((await running).status).toBe(200);
      expect(await stopped).toBe(0);
    });
  });

  it('does not wait for ever', async () => {
    const api = await start({ SHUTDOWN_TIMEOUT_MS: '200' });
    await withLockedProjects(test, async () => {
      const running = getProject(api).catch(() => 'cut off');
      await eventually('the request waits', () => isWaitingForLock(test));
      expect([0, 1]).toContain(await api.stop());
      expect(await running).toBe('cut off');
    });
  });

  it('tells why it does not start', async () => {
    const startInWords = (environment: Record<string, string>) =>
      start({ LOG_FORMAT: 'pretty', ...environment });
    await expect(startInWords({ PORT: 'x', LOG_LEVEL: 'loud' })).rejects.toThrow(
      /ended with 1:\nThe configuration is not valid:\n {2}- LOG_LEVEL .*\n {2}- PORT|ended with 1:\nThe configuration is not valid:\n {2}- PORT .*\n {2}- LOG_LEVEL/,
    );
    const taken = await takePort();
    const refused = await startInWords({ PORT: String(taken.port) }).catch(String);
    await taken.release();
    expect(refused).toContain(
      `ended with 1:\nPort ${taken.port} (PORT) on 127.0.0.1 is taken by another program.\n`,
    );
    await expect(startInWords({ DATABASE_URL: 'postgres://nobody@127.0.0.1:1/none' })).rejects.toThrow(
      /ended with 1:\nThe api could not start: PostgreSQL does not answer at the host and port of DATABASE_URL\. .*\n$/,
    );
  });
});

async function withLockedProjects(
  test: TestDatabase,
  work: (release: () => Promise<void>) => Promise<void>,
): Promise<void> {
  const client = new pg.Client({ connectionString: test.adminUrl });
  await client.connect();
  try {
    await client.query('begin; lock table access.projects in access exclusive mode');
    await work(async () => void (await client.query('rollback')));
  } finally {
    await client.end();
  }
}
