import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

interface Result {
  readonly index: number;
  readonly suppression?: Readonly<Record<string, unknown>>;
  readonly revoked?: boolean;
  readonly problem?: {
    readonly status: number;
    readonly detail?: string;
    readonly errors?: Readonly<Record<string, string>>;
  };
}

describe('batches', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;
  let topicId: string;

  beforeAll(async () => {
    system = await sharedSystem();
  });
  afterAll(() => system?.stop());

  beforeEach(async () => {
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicKey = topic.at('topicKey');
    topicId = topic.at('id');
  });

  const subscribe = async (email: string) => {
    const made = await client.post('/subscribers', {
      email,
      topicKeys: [topicKey],
      consent: { source: 'form' },
    });
    expect(made.status).toBe(201);
  };
  const resultsOf = (answer: ApiAnswer) => {
    expect(answer.status).toBe(200);
    return answer.at<Result[]>('results');
  };
  const statusOf = async (email: string) =>
    (await client.get(`/subscribers/${email}/consents`)).at('consents', 0, 'status');

  it('suppress each address as it would be by itself, and say what is wrong with others', async () => {
    for (const email of ['left@example.com', 'bounced@example.com']) await subscribe(email);
    await client.post('/suppressions', { email: 'earlier@example.com', reason: 'SPAM_COMPLAINT' });
    const suppressions = [
      { email: 'Left@example.com' },
      { email: 'bounced@example.com', reason: 'HARD_BOUNCE' },
      { email: 'earlier@example.com', reason: 'BLOCKED' },
      { email: 'nobody' },
      { email: 'x@example.com', reason: 'BORED', colour: 'red' },
      { email: 'left@EXAMPLE.com', reason: 'BLOCKED' },
      7,
    ];
    const results = resultsOf(await client.post('/suppressions/batch', { suppressions }));
    expect(results.map(({ index }) => index)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(results[0]?.suppression?.['email']).toBe('Left@example.com');
    expect(results.map(({ suppression }) => [suppression?.['reason'], suppression?.['streams']])).toEqual([
      ['GLOBAL_UNSUBSCRIBE', 'MARKETING'],
      ['HARD_BOUNCE', 'ALL'],
      ['SPAM_COMPLAINT', 'ALL'],
      ...[3, 4, 5, 6].map(() => [undefined, undefined]),
    ]);
    expect(
      results.slice(3).map(({ problem }) => [problem?.status, Object.keys(problem?.errors ?? {}).toSorted()]),
    ).toEqual([
      [422, ['suppressions[3].email']],
      [422, ['suppressions[4].colour', 'suppressions[4].reason']],
      [422, ['suppressions[5].email']],
      [422, [expect.stringContaining('suppressions[6]')]],
    ]);
    expect(await statusOf('left@example.com')).toBe('UNSUBSCRIBED');
    expect(await statusOf('bounced@example.com')).toBe('SUBSCRIBED');
    expect((await client.get('/suppressions')).at('pagination', 'totalElements')).toBe(3);
    const again = resultsOf(await client.post('/suppressions/batch', { suppressions }));
    expect(again).toEqual(results);
  });

  it('take 1 000 at once, and no more', async () => {
    const suppressions = Array.from({ length: 1_001 }, (_, n) => ({ email: `n${n}@example.com` }));
    expectProblem(await client.post('/suppressions/batch', { suppressions }), 400, 'validation-error', {
      errors: { suppressions: expect.stringContaining('1000') },
    });
    expectProblem(await client.post('/suppressions/batch', { suppressions: [] }), 400, 'validation-error', {
      errors: { suppressions: expect.any(String) },
    });
    const revocations = suppressions.map((one) => ({ ...one, topicKey }));
    expectProblem(await client.post('/consents/revoke-batch', { revocations }), 400, 'validation-error', {
      errors: { revocations: expect.stringContaining('1000') },
    });
    const thousand = await client.post('/suppressions/batch', { suppressions: suppressions.slice(1) });
    expect(resultsOf(thousand).filter(({ suppression }) => suppression !== undefined)).toHaveLength(1_000);
    expect((await client.get('/suppressions')).at('pagination', 'totalElements')).toBe(1_000);
  });

  it('revoke each consent as it would be by itself, and say what is wrong with others', async () => {
    for (const email of ['one@example.com', 'two@example.com', 'stays@example.com']) await subscribe(email);
    const other = (await client.post('/topics', { name: 'Offers' })).at('topicKey');
    const revocations = [
      { email: 'one@example.com', topicKey },
      { email: 'TWO@example.com', topicKey },
      { email: 'one@example.com', topicKey: other },
      { email: 'one@example.com', topicKey },
      { email: 'nobody@example.com', topicKey },
      { email: 'one@example.com', topicKey: 'APIT-999' },
      { email: 'one@example.com' },
    ];
    const results = resultsOf(await client.post('/consents/revoke-batch', { revocations }));
    expect(results.map(({ revoked }) => revoked)).toEqual([
      true,
      true,
      false,
      false,
      undefined,
      undefined,
      undefined,
    ]);
    expect(
      results.slice(4).map(({ problem }) => [problem?.status, Object.keys(problem?.errors ?? {})]),
    ).toEqual([
      [404, []],
      [422, ['revocations[5].topicKey']],
      [422, ['revocations[6].topicKey']],
    ]);
    expect(await statusOf('one@example.com')).toBe('UNSUBSCRIBED');
    expect(await statusOf('two@example.com')).toBe('UNSUBSCRIBED');
    expect(await statusOf('stays@example.com')).toBe('SUBSCRIBED');
    const records = await client.get('/subscribers/one@example.com/consent-records');
    expect(records.at('data', 0)).toMatchObject({ topicKey, actor: 'API_KEY' });
    const again = resultsOf(await client.post('/consents/revoke-batch', { revocations }));
    expect(again.map(({ revoked }) => revoked).slice(0, 4)).toEqual([false, false, false, false]);
  });

  it('leave other environments alone', async () => {
    await subscribe('one@example.com');
    const stranger = await (await system.project()).client('TEST');
    await stranger.post('/topics', { name: 'Theirs' });
    const [result] = resultsOf(
      await stranger.post('/consents/revoke-batch', {
        revocations: [{ email: 'one@example.com', topicKey }],
      }),
    );
    expect(result?.problem).toMatchObject({ status: 404, detail: 'No subscriber has this address.' });
    await stranger.post('/suppressions/batch', { suppressions: [{ email: 'one@example.com' }] });
    expect(await statusOf('one@example.com')).toBe('SUBSCRIBED');
    expect((await client.get('/suppressions/one@example.com')).at('suppressed')).toBe(false);
  });

  it('beside them, a link shows a report to whoever has it, by the API as by the command', async () => {
    await subscribe('one@example.com');
    const campaign = await client.post('/campaigns', {
      name: 'Spring',
      subject: 'Spring',
      contentText: 'It is spring. {{ links.unsubscribe }}',
      topicIds: [topicId],
    });
    const key = campaign.at('campaignKey');
    const path = `/campaign-reports/${key}/link`;
    expectProblem(await client.post(path, {}), 409, 'invalid-state', {
      currentState: 'DRAFT',
      allowedStates: ['SENT'],
    });
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    const days = (link: { at(name: string): string }) =>
      Math.round((Date.parse(link.at('expiresAt')) - Date.now()) / 86_400_000);
    const link = await client.post(path, { days: 7 });
    expect(link.status).toBe(200);
    expect(days(link)).toBe(7);
    expect(days(await client.post(path, {}))).toBe(30);
    const page = await fetch(link.at('url'));
    expect([page.status, await page.text()]).toEqual([200, expect.stringContaining('Spring')]);
    expectProblem(await client.post(path, { days: 367 }), 400, 'validation-error', {
      errors: { days: expect.any(String) },
    });
    expectProblem(await client.post('/campaign-reports/APIT-999/link', {}), 404, 'not-found');
    const which = ['--project', project.name, '--env', 'test', '--campaign', key];
    const printed = await runCliForJson(system.variables, ['report:link', ...which, '--days', '7']);
    expect((await fetch(String(printed['url']))).status).toBe(200);
    await expect(
      runCliForJson(system.variables, ['report:link', ...which, '--days', '367']),
    ).rejects.toThrow();
  });
});
