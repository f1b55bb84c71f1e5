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
        stderr: expect.stringContaining('must be none, or a number of days from 60 to 36500'),
      });
    }
  });
});
