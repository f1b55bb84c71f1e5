// Plain JavaScript on the build in dist/: Jest loads this file before its own transforms are in place.
import { randomInt } from 'node:crypto';
import { chmod, mkdir, mkdtemp, rm, statfs } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { migrate } from '../../../dist/libs/platform/src/database/migrations.js';
import { startPostgres } from '../../../dist/libs/platform/src/embedded-postgres/embedded-postgres.js';
import { createCitusTemplate, startCitus } from '../../../dist/test/support/postgres/citus.js';
import { openSharedSystem } from '../../../dist/test/support/runner/shared-system.js';

/**
 * One PostgreSQL for all test files, a migrated template from which each makes its own database, and the shared system. With CITUS
 * set, a cluster on which they make them instead.
 */
export default async function globalSetup() {
  drawSeed();
  const directory = await mkdtemp(join(await placeForDatabases(), 'mailwright-test-'));
  await chmod(directory, 0o711); // PostgreSQL runs as another user when the tests run as root
  // Programs that the tests start compile what others have compiled before them no more: a third of what a start costs.
  process.env.NODE_COMPILE_CACHE = join(directory, 'compiled');
  await recordStatements(directory);
  const server = await startPostgres({ directory: join(directory, 'postgres'), ephemeral: true });
  const cluster = process.env.CITUS === undefined ? undefined : await startCitus(directory);
  const shared = await openSharedSystem();
  process.env.MAILWRIGHT_TEST_SHARED_SYSTEM = shared.url;
  globalThis.endTestRun = async () => {
    await shared.close();
    await Promise.all([server.stop(), cluster?.stop()]);
    await rm(directory, { recursive: true, force: true });
  };
  const as = (login, url) => Object.assign(new URL(url), { username: login, password: 'of-the-tests' }).href;
  const template = server.url('mailwright_template');
  await makeOwner(server.url('postgres'));
  await migrate(as('schema_owner', template), as('mailwright', template));
  await addYearsToCome(as('schema_owner', template));
  process.env.MAILWRIGHT_TEST_POSTGRES = server.url('').replace(/\/$/, '');
  process.env.MAILWRIGHT_TEST_LOGIN = 'mailwright:of-the-tests';
  if (cluster === undefined) return;
  const nodes = cluster.nodes.map((node) => node.server);
  await createCitusTemplate(nodes, 'mailwright_template', process.env.MAILWRIGHT_TEST_LOGIN);
  process.env.MAILWRIGHT_TEST_CITUS = nodes.join();
}

/** Lets the processes of the run write down their SQL, for `row-types/reporter.ts`. */
async function recordStatements(directory) {
  if (process.env.ROW_TYPES === undefined) return;
  process.env.MAILWRIGHT_TEST_STATEMENTS ??= join(directory, 'statements');
  await mkdir(process.env.MAILWRIGHT_TEST_STATEMENTS, { recursive: true });
}

const MEMORY = '/dev/shm';
const ROOM_BYTES = 2 * 1024 ** 3;

/**
 * In memory where the system offers some: ext4 takes 0.6 s to make the 1 300 files of a database soon after as many
 * were removed, memory 0.05 s.
 */
async function placeForDatabases() {
  const memory = await statfs(MEMORY).catch(() => undefined);
  const hasRoom = memory !== undefined && memory.bavail * memory.bsize > ROOM_BYTES;
  return hasRoom ? MEMORY : tmpdir();
}

/** The full run draws anew: test/support/random/properties.ts. */
function drawSeed() {
  if (process.env.FULL === undefined) return;
  process.env.PROPERTY_SEED ??= String(randomInt(2 ** 31));
  process.stdout.write(`PROPERTY_SEED=${process.env.PROPERTY_SEED}\n`);
}

/** Makes the owner of the schema, no superuser, as with most who rent a PostgreSQL: row-level security is forced on it. */
async function makeOwner(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`create role schema_owner login createrole password 'of-the-tests'`);
  await client.query('create database mailwright_template owner schema_owner');
  await client.end();
}

/** Tests move their clocks by years, for which no worker has made months: one partition holds what comes after them. */
async function addYearsToCome(url) {
  const client = new pg.Client({ connectionString: url });
  await client.connect();
  await client.query(`
    do $$
    declare
      parent regclass;
      first date;
    begin
      for parent, first in
        select i.inhparent, max(substring(pg_get_expr(c.relpartbound, c.oid) from 'TO \\(''([-0-9]{10})')::date)
        from pg_inherits i join pg_class c on c.oid = i.inhrelid join pg_partitioned_table p on p.partrelid = i.inhparent
        where p.partstrat = 'r' group by i.inhparent
      loop
        execute format('create table %s_to_come partition of %s for values from (%L) to (maxvalue)', parent, parent, first);
      end loop;
    end $$`);
  await client.end();
}
