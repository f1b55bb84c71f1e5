import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createNewsOfAcme, runCli, runCliForJson } from '#testing/programs/operator-cli';

describe('The operator', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
    await createNewsOfAcme({ DATABASE_URL: test.url });
  });
  afterAll(() => test.drop());

  const run = (...args: readonly string[]) => runCli({ DATABASE_URL: test.url }, args);
  const json = (...args: readonly string[]) => runCliForJson({ DATABASE_URL: test.url }, args);
  const retention = ['project:retention', '--project', 'NEWS'];

  it('says for how long a project’s mails and events are kept, and changes one without the other', async () => {
    expect(await run(...retention)).toEqual({
      exitCode: 0,
      stdout:
        'ACME/NEWS: mails are kept as long as the installation’s, events as long as the installation’s.\n',
      stderr: '',
    });
    await json(...retention, '--deliveries', '365');
    expect(await json(...retention, '--events', '90')).toEqual({ deliveriesDays: 365, eventsDays: 90 });
    expect(await json(...retention, '--deliveries', 'none')).toEqual({
      deliveriesDays: null,
      eventsDays: 90,
    });
    expect(await json(...retention)).toEqual({ deliveriesDays: null, eventsDays: 90 });
  });

  it('is told what is not a time', async () => {
    for (const days of ['59', 'long', '1e9', '60.5']) {
      expect(await run(...retention, '--deliveries', days)).toMatchObject({
        exitCode: 2,
        stderr: expect.stringMatching(/must be none, or (?:a number of days|from 60 to 36500 days)/),
      });
    }
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
