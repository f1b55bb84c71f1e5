import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { ed25519Key, rsaKey } from '#testing/mail/dkim-keys';
import { createProject } from '#testing/fixtures/fixtures';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import { SECRETS } from '#testing/programs/system';
import { SecretBox } from '#platform';

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
