import { spawnSync } from 'node:child_process';
import { chmod, mkdtemp, open, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { migrate } from '../../libs/platform/src/database/migrations.js';
import {
  type PostgresServer,
  startPostgres,
} from '../../libs/platform/src/embedded-postgres/embedded-postgres.js';
import type { ApiClient } from '#testing/http/api-client';
import { openTestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { type RunningSystem, startSystemOn } from '#testing/programs/system';

const DISK_MB = 400;
const PIECE = Buffer.alloc(64 * 1024, 'x');

const mayMount = process.getuid?.() === 0 && spawnSync('unshare', ['--mount', 'true']).status === 0;
const describeWithDisk = mayMount ? describe : describe.skip;

describeWithDisk('a PostgreSQL whose disk is full (needs the right to mount one)', () => {
  let disk: string;
  let server: PostgresServer;
  let system: RunningSystem;
  let client: ApiClient;

  beforeAll(async () => {
    disk = await mkdtemp(join(tmpdir(), 'mailwright-disk-'));
    run('mount', '-t', 'tmpfs', '-o', `size=${DISK_MB}m`, 'tmpfs', disk);
    await chmod(disk, 0o711);
    server = await startPostgres({ directory: join(disk, 'postgres') });
    await server.ensureDatabase('full');
    await migrate(server.url('full'));
    system = await startSystemOn(openTestDatabase(server.url('full')));
    client = await (await system.project()).client('TEST');
  });

  afterAll(async () => {
    await system?.stop();
    await server?.stop();
    run('umount', disk);
    await rm(disk, { recursive: true });
  });

  function run(command: string, ...parameters: string[]): void {
    const { status, stderr } = spawnSync(command, parameters, { encoding: 'utf8' });
    if (status !== 0) throw new Error(`${command} ended with ${status}: ${stderr}`);
  }

  async function fill(): Promise<string> {
    const path = join(disk, 'filler');
    const file = await open(path, 'w');
    for (let isFull = false; !isFull;)
      isFull = await file.write(PIECE).then(
        ({ bytesWritten }) => bytesWritten === 0,
        () => true,
      );
    await file.close();
    return path;
  }

  const readiness = async ({ port }: { readonly port: number }) => {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`);
    return { code: answer.status, ...((await answer.json()) as object) };
  };

  it('keeps the api and the worker from being ready until there is room again', async () => {
    expect((await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).status).toBe(201);
    const filler = await fill();
    for (const program of [system.api, system.worker]) {
      expect(await readiness(program)).toMatchObject({
        code: 503,
        checks: { database: 'failed' },
        reasons: { database: expect.stringMatching(/disk/) },
      });
    }
    await rm(filler);
    for (const program of [system.api, system.worker])
      await eventually('it is ready', async () => (await readiness(program)).code === 200);
    expect((await client.post('/topics', { name: 'More', doubleOptInEnabled: false })).status).toBe(201);
  });
});
