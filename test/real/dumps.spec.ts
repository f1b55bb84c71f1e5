import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { samplesOf } from '#testing/fixtures/code-samples';
import { openTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { runCliProgram } from '#testing/programs/operator-cli';
import { SECRETS, startSystemOn } from '#testing/programs/system';
import { describeWith, executableOf } from './parts.js';
import { type EmptyPostgres, startEmptyPostgres } from './support/replicated-postgres.js';

const READERS = 7;
const OWNER = 'mailwright_admin';
const LOGIN = 'mailwright';

/** The one block of a page with `command` in it. */
function blockWith(page: string, command: string): string {
  const samples = samplesOf(page, readFileSync(join(projectRoot(), page), 'utf8'));
  const found = samples.filter(({ code }) => code.includes(command));
  if (found.length !== 1)
    throw new Error(`${page} has ${found.length} blocks with ${command}: it must have one`);
  return found[0]!.code;
}

/** The part of a block that `pattern` takes out of it. */
function partOf(block: string, pattern: RegExp): string {
  const part = pattern.exec(block)?.[1];
  if (part === undefined) throw new Error(`No ${pattern} in:\n${block}`);
  return part;
}

describeWith(['postgresql'], 'dumps as the pages say', () => {
  let server: EmptyPostgres;
  let second: EmptyPostgres;
  let directory: string;
  let counts: Record<string, number>;

  /** Runs a page's commands as a shell does, where PostgreSQL's programs go to `at` as its superuser. */
  async function shell(
    command: string,
    at: EmptyPostgres,
    variables: Record<string, string> = {},
  ): Promise<void> {
    const { port } = new URL(at.url());
    const programs = [process.execPath, executableOf('postgresql', 'pg_dump')].map((path) => dirname(path));
    programs.unshift(directory);
    const environment = {
      ...SECRETS,
      PATH: [...programs, process.env['PATH']].join(delimiter),
      PGHOST: '127.0.0.1',
      PGPORT: port,
      PGUSER: 'postgres',
      PGPASSWORD: at.password,
      ...variables,
    };
    await promisify(execFile)('bash', ['-euc', command], { cwd: directory, env: environment });
  }

  async function makeLogins(at: EmptyPostgres, database: 'with' | 'without'): Promise<void> {
    const block = blockWith('docs/install-debian.md', 'create role mailwright_admin');
    const roles = partOf(block, /runuser -u postgres -- (psql --set[\s\S]*?\nEND\n)/);
    const command = database === 'with' ? roles : roles.replace(/^create database.*\n/m, '');
    await shell(command, at, { OWNER_PASSWORD: at.password, PASSWORD: at.password });
  }

  async function withDatabase<T>(url: string, ask: (database: TestDatabase) => Promise<T>): Promise<T> {
    const database = openTestDatabase(url);
    try {
      return await ask(database);
    } finally {
      await database.drop();
    }
  }

  /** Rows of each table of ours. */
  const countsOf = (url: string) =>
    withDatabase(url, async (database) => {
      const tables = await database.query<{ name: string }>(
        `select format('%I.%I', schemaname, tablename) as name from pg_tables
         where schemaname not in ('pg_catalog', 'information_schema') order by 1`,
      );
      const found: Record<string, number> = {};
      for (const { name } of tables) {
        const [row] = await database.query<{ count: number }>(`select count(*)::int as count from ${name}`);
        found[name] = row!.count;
      }
      return found;
    });

  async function expectCountersToAgree(at: EmptyPostgres, database: string): Promise<void> {
    for (const command of [
      'check:counters',
      'check:statistics',
      'check:credits',
      'check:automations',
      'check:audit',
    ]) {
      const outcome = await runCliProgram({ DATABASE_URL: at.url(LOGIN, database), ...SECRETS }, [command]);
      expect([command, outcome.exitCode, outcome.stderr]).toEqual([command, 0, '']);
    }
  }

  beforeAll(async () => {
    directory = mkdtempSync(join(tmpdir(), 'mailwright-dumps-'));
    symlinkSync(join(projectRoot(), 'dist'), join(directory, 'dist'));
    const mailwright = join(projectRoot(), 'dist/apps/launcher/src/mailwright.js');
    writeFileSync(join(directory, 'mailwright'), `#!/bin/sh\nexec node ${mailwright} "$@"\n`, {
      mode: 0o755,
    });
    server = await startEmptyPostgres();
    await makeLogins(server, 'with');
    const urls = { DATABASE_URL: server.url(LOGIN), DATABASE_OWNER_URL: server.url(OWNER) };
    const migrated = await runCliProgram({ ...urls, ...SECRETS }, ['migrate']);
    expect([migrated.exitCode, migrated.stderr]).toEqual([0, '']);
    const system = await startSystemOn({ ...openTestDatabase(server.url()), url: urls.DATABASE_URL });
    const client = await (await system.project()).client('LIVE');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    for (let reader = 0; reader < READERS; reader += 1) {
      const subscriber = { email: `reader${reader}@example.com`, topicKeys: [topic.at('topicKey')] };
      expect((await client.post('/subscribers', { ...subscriber, consent: { source: 'form' } })).status).toBe(
        201,
      );
    }
    await system.stop();
    counts = await countsOf(server.url());
  });

  afterAll(async () => {
    await Promise.all([server?.stop(), second?.stop()]);
    rmSync(directory, { recursive: true, force: true });
  });

  it('by an owner that is no superuser hold every row, and are restored to a new server', async () => {
    expect(counts['audience.subscribers']).toBe(READERS);
    const dump = blockWith('docs/operations.md', 'pg_dump --enable-row-security');
    await shell(dump, server, { DATABASE_OWNER_URL: server.url(OWNER), PGUSER: OWNER });

    second = await startEmptyPostgres();
    await makeLogins(second, 'without');
    const restore = blockWith('docs/operations.md', 'pg_restore --no-owner')
      .replaceAll('postgres://mailwright_runtime@new-server/', second.url(LOGIN, ''))
      .replaceAll('postgres://owner@new-server/', second.url('postgres', ''));
    await shell(restore, second);

    expect(await countsOf(second.url())).toEqual(counts);
    await expectCountersToAgree(second, 'mailwright');
  });

  it('before an upgrade on Debian hold every row', async () => {
    const block = blockWith('docs/install-debian.md', 'pg_dump');
    const dump = partOf(block, /runuser -u postgres -- (pg_dump .*)/).replace('/var/backups/', '');
    await shell(dump, server);
    await shell(
      'createdb --owner=mailwright_admin restored; pg_restore --exit-on-error --dbname=restored mailwright.dump',
      server,
    );
    expect(await countsOf(server.url('postgres', 'restored'))).toEqual(counts);
    await expectCountersToAgree(server, 'restored');
  });
});
