import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import { createProject } from '#testing/fixtures/fixtures';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import { SECRETS } from '#testing/programs/system';
import { SecretBox } from '#platform';

describe('migrate', () => {
  let test: TestDatabase;
  let empty: string;

  beforeAll(async () => {
    test = await createTestDatabase();
    empty = `${new URL(test.url).pathname.slice(1)}_empty`;
    await test.query(`create database ${empty}`);
  });
  afterAll(async () => {
    await test.query(`drop database ${empty} with (force)`);
    await test.drop();
  });

  const changed = (url: string, changes: Partial<URL>) => Object.assign(new URL(url), changes).href;
  const migrate = (DATABASE_OWNER_URL: string, DATABASE_URL = test.url) =>
    runCli({ ...SECRETS, DATABASE_URL, DATABASE_OWNER_URL }, ['migrate']);

  it('names DATABASE_OWNER_URL where that is wrong', async () => {
    const faults: readonly (readonly [Partial<URL>, string])[] = [
      [{ username: 'nobody' }, 'PostgreSQL refuses the user and password of DATABASE_OWNER_URL.'],
      [{ port: '1' }, 'PostgreSQL does not answer at the host and port of DATABASE_OWNER_URL.'],
      [{ pathname: '/nowhere' }, 'The database of DATABASE_OWNER_URL does not exist.'],
    ];
    for (const [changes, message] of faults)
      expect(await migrate(changed(test.adminUrl, changes))).toMatchObject({
        exitCode: 1,
        stdout: '',
        stderr: expect.stringContaining(message),
      });
  });

  it('migrates no other database than that of DATABASE_URL', async () => {
    const name = new URL(test.url).pathname.slice(1);
    expect(await migrate(changed(test.adminUrl, { pathname: `/${empty}` }))).toEqual({
      exitCode: 1,
      stdout: '',
      stderr: `DATABASE_OWNER_URL leads to the database ${empty}, and DATABASE_URL to another, ${name}: both have to name the same.\n`,
    });
    const other = { ...SECRETS, DATABASE_URL: changed(test.adminUrl, { pathname: `/${empty}` }) };
    expect((await runCli(other, ['key:list'])).stderr).toContain(
      'The database lacks migrations: 20261122200000_platform',
    );
  });

  it('says what the owner of the schema has to be allowed', async () => {
    const owner = `${empty}_owner`;
    await test.query(`create role ${owner} login password 'owner'`);
    await test.query(`create database ${owner} owner ${owner}`);
    try {
      const url = changed(test.adminUrl, { username: owner, password: 'owner', pathname: `/${owner}` });
      expect(await migrate(url, url)).toMatchObject({
        exitCode: 1,
        stderr: expect.stringContaining('CREATEROLE, and CREATE on the database (docs/database.md#logins)'),
      });
    } finally {
      await test.query(`drop database ${owner} with (force)`);
      await test.query(`drop role ${owner}`);
    }
  });
});

describe('master-key:rotate', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
    const { live } = await createProject(test);
    const keys = [rsaKey('one'), ed25519Key('two')];
    await insertSendingDomain(test, live, { domainName: 'news.acme.example', keys });
    const box = new SecretBox(SECRETS.MASTER_KEY);
    await test.query(
      `insert into deliverability.relays (environment_id, id, project_id, relay_key, name, kind, host, port, tls, username,
         password_box, feedback_key_box, options, streams, priority, weight, connections, signing, status, feedback_id, created_at,
         updated_at)
       values ($1, gen_random_uuid(), $2, 'ACME-1', 'x', 'SMTP', 'x.example', 25, 'REQUIRED', 'acme', $3, $4, '{}', '{CAMPAIGN}', 1, 1,
         1, 'OWN', 'ACTIVE', gen_random_uuid(), now(), now())`,
      [
        live.environmentId,
        live.projectId,
        ...['s3cret', 'whsec_Zm9v'].map((secret) => box.seal(secret, { purpose: 'relay', owner: live })),
      ],
    );
  });
  afterAll(() => test.drop());

  it('encrypts the keys of sending domains and the secrets of relays again, there and back, and needs the key of erased addresses', async () => {
    const next = {
      DATABASE_URL: test.url,
      ...SECRETS,
      MASTER_KEY: 'the next master key of this test, long',
      MASTER_KEY_PREVIOUS: SECRETS.MASTER_KEY,
    };
    const forgotten = await runCli(next, ['master-key:rotate']);
    expect([forgotten.exitCode, forgotten.stderr]).toEqual([
      1,
      expect.stringContaining('ERASED_ADDRESS_KEY'),
    ]);
    const complete = { ...next, ERASED_ADDRESS_KEY: SECRETS.MASTER_KEY };
    expect(await runCliForJson(complete, ['master-key:rotate'])).toEqual({
      encryptedAgain: {
        'DKIM keys': 2,
        'relay secrets': 1,
        'webhook secrets': 0,
        'automation secrets': 0,
        'contents of messages': 0,
      },
    });
    expect(await runCliForJson(complete, ['master-key:rotate'])).toEqual({
      encryptedAgain: {
        'DKIM keys': 0,
        'relay secrets': 0,
        'webhook secrets': 0,
        'automation secrets': 0,
        'contents of messages': 0,
      },
    });
    const back = { ...complete, MASTER_KEY: SECRETS.MASTER_KEY, MASTER_KEY_PREVIOUS: next.MASTER_KEY };
    expect(await runCliForJson(back, ['master-key:rotate'])).toEqual({
      encryptedAgain: {
        'DKIM keys': 2,
        'relay secrets': 1,
        'webhook secrets': 0,
        'automation secrets': 0,
        'contents of messages': 0,
      },
    });
  });
});
