import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { pino } from 'pino';
import { API_SCOPES } from '#kernel';
import { SystemClock } from '#testing/time/clocks';
import { KeyAuthenticator } from '#access';
import { Database, PostgresNotifications } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { runCli, runCliForJson, runCliProgram } from '#testing/programs/operator-cli';

const ACME = ['tenant:create', '--key', 'ACME', '--name', 'Acme Ltd'];
const project = (tenant: string, key: string) =>
  ['project:create', '--tenant', tenant, '--key', key, '--name', 'Acme News'].concat([
    '--sender-name',
    'Acme',
    '--postal-address',
    '1 Main Street, Springfield',
  ]);
const key = (...options: readonly string[]) => [
  'key:create',
  '--env',
  'test',
  '--name',
  'Website',
  ...options,
];

describe('The operator’s program', () => {
  let test: TestDatabase;
  let database: Database;

  beforeAll(async () => {
    test = await createTestDatabase();
    database = await Database.connect({ url: test.url, poolSize: 2, applicationName: 'spec', entities: [] });
  });

  beforeEach(() => test.query('truncate access.tenants, billing.subscriptions, audience.topics cascade'));

  afterAll(async () => {
    await database.close();
    await test.drop();
  });

  const run = (...args: readonly string[]) => runCli({ DATABASE_URL: test.url }, args);
  const json = (...args: readonly string[]) => runCliForJson({ DATABASE_URL: test.url }, args);
  const authenticate = (value: unknown) =>
    new KeyAuthenticator(
      database,
      new SystemClock(),
      new PostgresNotifications(test.url),
      pino({ level: 'silent' }),
    ).authenticate(String(value));

  it('is a program of its own, with exit codes', async () => {
    const made = await runCliProgram({ DATABASE_URL: test.url }, [...ACME, '--json']);
    expect([made.exitCode, made.stderr]).toEqual([0, '']);
    const wrong = await runCliProgram({ DATABASE_URL: test.url }, ['tenant:make']);
    expect([wrong.exitCode, wrong.stdout]).toEqual([2, '']);
  });

  it('makes a tenant, a project and a key that is accepted', async () => {
    expect(await json(...ACME)).toEqual({
      id: expect.any(Number),
      tenantKey: 'ACME',
      name: 'Acme Ltd',
      planTier: 'FREE',
      subscriptionStatus: 'ACTIVE',
      createdAt: expect.any(String),
      updatedAt: expect.any(String),
    });
    const made = await json(...project('ACME', 'APIT'), '--from', 'news@acme.example');
    expect(made).toMatchObject({ tenantKey: 'ACME', projectKey: 'APIT' });
    const created = await json(
      ...key(
        '--project',
        'ACME/APIT',
        '--scopes',
        'topics:read, topics:write',
        '--rate-limit',
        '600',
        '--expires-in-days',
        '30',
      ),
    );
    expect(created).toMatchObject({ project: 'ACME/APIT', environment: 'TEST', rateLimitPerMinute: 600 });
    expect(Date.parse(String(created['expiresAt'])) - Date.now()).toBeGreaterThan(29.9 * 86_400_000);
    const caller = await authenticate(created['key']);
    expect(caller).toMatchObject({
      keyId: created['id'],
      rateLimitPerMinute: 600,
      scope: { environmentId: made['testEnvironmentId'] },
    });
    expect(caller?.scopes).toEqual(new Set(['topics:read', 'topics:write']));
    const subscriptions = await test.query(
      `select plan_tier from billing.subscriptions where tenant_id = $1`,
      [caller?.scope.tenantId],
    );
    expect(subscriptions).toEqual([{ plan_tier: 'FREE' }]);
  });

  it('lists keys without showing them, and revokes one', async () => {
    await json(...ACME);
    await json(...project('ACME', 'APIT'));
    const { id, key: secret } = await json(...key('--project', 'APIT', '--scopes', 'all'));
    const listed = await run('key:list', '--project', 'APIT');
    expect(listed.stdout).toContain(`…${String(secret).slice(-4)}`);
    expect(listed.stdout).not.toContain(String(secret));
    expect(listed.stdout).toMatch(/^ID +PROJECT +ENV +NAME +KEY +STATUS +LIMIT +SCOPES/);
    expect(listed.stdout).toMatch(
      /ACME\/APIT +test +Website +mw_test_….{4} +active +default +all +\d{4}-\d\d-\d\d +never +never\n$/,
    );
    const rotated = await json('key:rotate', String(id), '--overlap-hours', '0');
    expect(rotated).toMatchObject({ replaces: id, overlapHours: 0, expiresAt: null });
    expect(await authenticate(secret)).toBeNull();
    expect((await authenticate(rotated['key']))?.scopes).toEqual(new Set(API_SCOPES));
    expect((await run('key:revoke', String(id))).stdout).toBe(`Revoked ${String(id)}.\n`);
    expect(await json('key:list')).toEqual([
      expect.objectContaining({ id: rotated['id'], status: 'ACTIVE', createdBy: null }),
      expect.objectContaining({ id, status: 'REVOKED', scopes: [...API_SCOPES] }),
    ]);
  });

  it('says what is wrong with a command line and ends with 2', async () => {
    const missing = await run('tenant:create', '--key', 'ACME');
    expect(missing).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: expect.stringContaining(`required option '--name <name>' not specified`),
    });
    expect((await run('key:crate')).stderr).toContain('(Did you mean key:create?)');
    expect((await run()).exitCode).toBe(2);
    expect(await run('help', 'key:crate')).toEqual({
      exitCode: 2,
      stdout: '',
      stderr: "unknown command 'key:crate'\n(Did you mean key:create?)\nSee: mailwright --help\n",
    });
    expect(await run('help', 'worker')).toMatchObject({
      exitCode: 0,
      stdout: 'mailwright worker: run a worker\nSee: mailwright worker --help\n',
    });
    const scope = await run(...key('--project', 'APIT', '--scopes', 'topic:read'));
    expect(scope.exitCode).toBe(2);
    expect(scope.stderr).toContain('Did you mean topics:read?');
    for (const known of API_SCOPES) expect(scope.stderr).toContain(known);
    const refused = await run('tenant:create', '--key', 'acme', '--name', ' ');
    expect(refused.exitCode).toBe(2);
    expect(refused.stderr).toContain('--key must be 2 to 16 capital letters');
    expect(refused.stderr).toContain('--name must not be blank');
    const asJson = await run('tenant:create', '--json');
    expect(JSON.parse(asJson.stderr)).toEqual({
      error: { code: 'usage', message: expect.stringContaining('--key') },
    });
  });

  it('says what there is when something is not known, and ends with 1', async () => {
    const none = await run(...project('ACME', 'APIT'));
    expect(none).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('There is no tenant yet.') });
    await json(...ACME);
    expect((await run(...project('ACMEE', 'APIT'))).stderr).toContain(
      'There is no tenant ACMEE. Did you mean ACME? Existing: ACME',
    );
    await json(...project('ACME', 'APIT'));
    const unknown = await run(...key('--project', 'ACME/APIX', '--scopes', 'all'));
    expect(unknown).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Did you mean ACME/APIT? Existing: ACME/APIT'),
    });
    expect(await run(...ACME)).toMatchObject({
      exitCode: 1,
      stderr: 'A tenant with the key ACME already exists.\n',
    });
    expect(await run('key:revoke', 'nothing')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('There is no key nothing.'),
    });
    const endpoint = ['--project', 'ACME/APIT', '--env', 'test', '--id', 'x'];
    for (const command of [
      'webhook:test',
      'webhook:set',
      'webhook:delete',
      'webhook:log',
      'webhook:rotate-secret',
    ])
      expect(await run(command, ...endpoint)).toEqual({
        exitCode: 1,
        stdout: '',
        stderr: 'There is no endpoint x. `mailwright webhook:list` shows the ids.\n',
      });
  });

  it('asks which project is meant where two tenants have it', async () => {
    await json(...ACME);
    await json('tenant:create', '--key', 'OTHER', '--name', 'Other');
    for (const tenant of ['ACME', 'OTHER']) await json(...project(tenant, 'APIT'));
    const outcome = await run(...key('--project', 'APIT', '--scopes', 'all'));
    expect(outcome).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('ACME/APIT, OTHER/APIT') });
    expect(await json(...key('--project', 'OTHER/APIT', '--scopes', 'all'))).toMatchObject({
      project: 'OTHER/APIT',
    });
  });

  it('names every option that is missing, and marks them in its help', async () => {
    expect(
      await run('project:create', '--key', 'APIT', '--sender-name', 'A', '--postal-address', 'B'),
    ).toEqual({
      exitCode: 2,
      stdout: '',
      stderr:
        "required options '--tenant <key>', '--name <name>' not specified\nSee: mailwright project:create --help\n",
    });
    const { stdout } = await run('report:link', '--help');
    expect(stdout).toMatch(/--env <env> .*\(required\)|--env <env>[^-]*\(required\)/);
    expect(stdout).not.toMatch(/--days <days>[^-]*\(required\)/);
  });

  it('lists all that is wrong with the configuration', async () => {
    const outcome = await runCli({ LOG_LEVEL: 'loud' }, ['key:list']);
    expect(outcome).toMatchObject({ exitCode: 1, stdout: '' });
    expect(outcome.stderr).toContain('DATABASE_URL is required');
    expect(outcome.stderr).toContain(
      'the installation of `mailwright start` (in a clone: `npm start`) in this directory, and there is none.',
    );
    expect(outcome.stderr).toContain('LOG_LEVEL');
  });

  it('says that PostgreSQL does not answer, without the password of its URL', async () => {
    const outcome = await runCli({ DATABASE_URL: 'postgres://operator:secret@127.0.0.1:1/mailwright' }, [
      'key:list',
    ]);
    expect(outcome).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: expect.stringMatching(/^PostgreSQL does not answer .*\n$/),
    });
    expect(outcome.stderr).not.toContain('secret');
  });

  it('migrates an empty database, and asks for that before anything else', async () => {
    const name = `${new URL(test.url).pathname.slice(1)}_empty`;
    await test.query(`create database ${name}`);
    try {
      const env = { DATABASE_URL: test.adminUrl.replace(/[^/]+$/, name) };
      expect(await runCli(env, ['key:list'])).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('Run `mailwright migrate` first'),
      });
      const migrated = await runCli(env, ['migrate', '--json']);
      expect(JSON.parse(migrated.stdout)).toEqual({
        applied: expect.arrayContaining(['20261122200100_access']),
      });
      expect(await runCli(env, ['migrate'])).toMatchObject({
        exitCode: 0,
        stdout: 'The database is up to date.\n',
      });
      expect(await runCli(env, ['key:list'])).toMatchObject({ exitCode: 0, stdout: 'There are no keys.\n' });
    } finally {
      await test.query(`drop database ${name} with (force)`);
    }
  });
});
