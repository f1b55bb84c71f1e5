import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:http';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { keysWork, prepareDemo, readDemoFile } from './demo.js';
import type { RunCli } from './programs.js';

const topics = { doubleOptIn: 'DEMO-1', singleOptIn: 'DEMO-2' };

let directory: string;
let path: string;

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'mailwright-demo-'));
  path = join(directory, 'demo.json');
});

afterEach(async () => {
  await rm(directory, { recursive: true, force: true });
});

/** A database as `demo:seed` sees it: keys are told only when they are made. */
function database(): RunCli {
  let generation = 0;
  return async (command, ...options) => {
    expect([command, options[0]]).toEqual(['demo:seed', '--json']);
    const created = generation === 0;
    const makesKeys = created || options.includes('--renew-keys');
    if (makesKeys) generation += 1;
    const key = (environment: string) => (makesKeys ? `mw_${environment}_${generation}` : null);
    return `${JSON.stringify({ created, projectKey: 'DEMO', testKey: key('test'), liveKey: key('live'), topics })}\n`;
  };
}

describe('the demo project', () => {
  it('is made once, and its file is written again with the port of each start', async () => {
    const cli = database();
    const first = await prepareDemo(cli, path, 'http://localhost:3000');
    expect(first.newKeys).toBe(true);
    const second = await prepareDemo(cli, path, 'http://localhost:3055');
    expect(second).toMatchObject({ newKeys: false, topics });
    expect(await readDemoFile(path)).toEqual({
      baseUrl: 'http://localhost:3055',
      projectKey: 'DEMO',
      testKey: 'mw_test_1',
      liveKey: 'mw_live_1',
    });
  });

  it('gets new keys when its file is lost or damaged', async () => {
    const cli = database();
    await prepareDemo(cli, path, 'http://localhost:3000');
    await rm(path);
    expect(await prepareDemo(cli, path, 'http://localhost:3000')).toMatchObject({
      newKeys: true,
      file: { testKey: 'mw_test_2' },
    });
    await writeFile(path, '{}');
    expect(await prepareDemo(cli, path, 'http://localhost:3000')).toMatchObject({
      newKeys: true,
      file: { liveKey: 'mw_live_3' },
    });
  });

  it('takes the keys of a new database, not those of the last', async () => {
    await prepareDemo(database(), path, 'http://localhost:3000');
    await writeFile(path, JSON.stringify({ ...(await readDemoFile(path)), testKey: 'mw_test_old' }));
    expect(await prepareDemo(database(), path, 'http://localhost:3000')).toMatchObject({
      file: { testKey: 'mw_test_1' },
    });
  });

  it('knows keys that the api refuses', async () => {
    const server = createServer((request, response) => {
      response.statusCode = request.headers['x-api-key'] === 'mw_live_b' ? 401 : 200;
      response.end();
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' && address !== null ? address.port : 0;
    const file = {
      baseUrl: `http://127.0.0.1:${port}`,
      projectKey: 'DEMO',
      testKey: 'mw_test_a',
      liveKey: 'mw_live_a',
    };
    expect(await keysWork(file)).toBe(true);
    expect(await keysWork({ ...file, liveKey: 'mw_live_b' })).toBe(false);
    server.close();
  });
});
