import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/database';
import { createNewsOfAcme, runCli, runCliForJson } from '#testing/operator-cli';

describe('The operator', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
    await createNewsOfAcme({ DATABASE_URL: test.url });
  });
  afterAll(() => test.drop());

  const run = (...args: readonly string[]) => runCli({ DATABASE_URL: test.url }, args);
  const json = (...args: readonly string[]) => runCliForJson({ DATABASE_URL: test.url }, args);

  it('gives a tenant credits, corrects them, and has the ledger added up', async () => {
    expect(await json('credits:grant', '--tenant', 'ACME', '--credits', '100')).toMatchObject({
      tenantKey: 'ACME',
      type: 'GRANT',
      amount: 100,
      balanceAfter: 100,
      description: 'Granted by the operator',
    });
    const adjust = ['credits:adjust', '--tenant', 'ACME', '--description', 'Given twice'];
    expect(await run(...adjust, '--credits', '-30')).toEqual({
      exitCode: 0,
      stdout: 'ACME has 70 AI credits.\n',
      stderr: '',
    });
    expect(await run(...adjust, '--credits', '-71')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--credits takes more than there is: the balance is 70'),
    });
    expect(await run('credits:grant', '--tenant', 'ACME', '--credits', 'many')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--credits must be an integer'),
    });
    expect(await run('credits:grant', '--tenant', 'ACNE', '--credits', '1')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Did you mean ACME?'),
    });
    expect(await json('check:credits')).toEqual({ discrepancies: [] });
  });

  it('is told when a balance is not what the ledger adds up to', async () => {
    await test.query(
      `alter table billing.credit_accounts disable trigger follows_the_ledger; update billing.credit_accounts set balance = 71`,
    );
    expect(await run('check:credits')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/balance +71 +70/),
    });
  });

  it('changes what is said about a project', async () => {
    const set = ['project:set', '--project', 'NEWS'];
    expect(
      await json(...set, '--name', 'Acme News', '--description', 'Monthly', '--ai-segment-suggestions', 'on'),
    ).toMatchObject({ tenantKey: 'ACME', projectKey: 'NEWS' });
    const [row] = await test.query('select * from access.projects');
    expect(row).toMatchObject({
      name: 'Acme News',
      description: 'Monthly',
      ai_segment_suggestions_enabled: true,
      sender_name: 'Acme',
    });
    const looks = ['--reply-to', 'team@acme.example', '--locale', 'de', '--time-zone', 'Europe/Berlin'];
    await json(...set, ...looks, '--color', '#1A73E8', '--description', '');
    expect((await test.query('select * from access.projects'))[0]).toMatchObject({
      name: 'Acme News',
      description: null,
      reply_to: 'team@acme.example',
      default_locale: 'de',
      time_zone: 'Europe/Berlin',
      color: '#1a73e8',
    });
    expect(await run(...set, '--color', 'yellow', '--logo-url', 'logo.png')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringMatching(/--logo-url must be an https URL\n--color must be a colour/),
    });
    expect(await run(...set)).toMatchObject({ exitCode: 2 });
    expect(await run(...set, '--name', '')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--name must not be blank'),
    });
  });
});
