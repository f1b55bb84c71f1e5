import { execFile } from 'node:child_process';
import { readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NpmStart, PARTS, topicsOf } from '#testing/programs/npm-start';
import { takePort } from '#testing/programs/ports';

describe('npm start', () => {
  let npm: NpmStart;
  const taken: Awaited<ReturnType<typeof takePort>>[] = [];

  beforeAll(async () => {
    npm = await NpmStart.prepare();
    // Taken by somebody else, if not by us.
    for (const port of [3000, 5432, 6379])
      await takePort(port).then(
        (server) => taken.push(server),
        () => undefined,
      );
  });

  afterAll(async () => {
    await npm?.remove();
    await Promise.all(taken.map((server) => server.release()));
  });

  it('runs beside programs that have taken the usual ports, with a demo project and its keys', async () => {
    const demo = await npm.start();
    expect(demo).toMatchObject({
      projectKey: 'DEMO',
      testKey: expect.stringMatching(/^mw_test_/),
      liveKey: expect.stringMatching(/^mw_live_/),
    });
    expect((await stat(join(npm.directory, '.data/demo.json'))).mode & 0o777).toBe(0o600);
    expect((await topicsOf(demo)).filter(({ doubleOptInEnabled }) => doubleOptInEnabled)).toHaveLength(1);
    expect(new Set(await readdir(npm.directory))).toEqual(new Set([...PARTS, '.data', 'node_modules']));
  });

  it('is what the operator’s program works on in its directory', async () => {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      ['dist/apps/cli/src/main.js', 'key:list', '--json'],
      {
        cwd: npm.directory,
        env: { PATH: process.env['PATH'], NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'] },
      },
    );
    expect(stdout.match(/"projectKey":"DEMO"/g)).toHaveLength(2);
  });

  it('stops all of it on Ctrl-C', () => npm.pressCtrlC());
});
