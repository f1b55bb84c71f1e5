import { beforeAll, expect, it } from '@jest/globals';
import { LinkTokens } from '#platform';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import type { ModelServer } from '#testing/servers/model-server';
import { runCliForJson } from '#testing/programs/operator-cli';
import { startProgram } from '#testing/programs/program';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import type { RunningSystem, SystemProject } from '#testing/programs/system';

/** Lease of a killed worker on its job: after it another may go on. */
const LEASE_MS = 30_000;
/** Interval at which the worker begins subscriptions' months and campaigns' reports. */
const TASKS_EVERY_MS = 10_000;

export function campaignReports(running: () => { system: RunningSystem; model: ModelServer }): void {
  let model: ModelServer;
  let system: RunningSystem;
  let project: SystemProject;
  let live: ApiClient;
  let test: ApiClient;
  /** Path of the campaign of the live environment. */
  let path: string;

  beforeAll(async () => {
    ({ system, model } = running());
    project = await system.project();
    live = await project.client('LIVE');
    test = await project.client('TEST');
  });

  /** A campaign of the test environment that has a report. */
  let tried: string;

  async function sentCampaign(client: ApiClient, environment: 'live' | 'test'): Promise<string> {
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, project[environment], topic.at('id'), 5);
    const draft = { name: 'May', subject: 'May', contentText: 'Hello.', topicIds: [topic.at('id')] };
    const campaign = await client.post('/campaigns', draft);
    const of = `/campaigns/${campaign.at('campaignKey')}`;
    expect((await client.get(`${of}/report`)).status).toBe(404);
    const early = await client.post(`${of}/report`);
    expect([early.status, early.at('currentState')]).toEqual([409, 'DRAFT']);
    expect((await client.post(`${of}/send`)).status).toBe(200);
    await eventually('the campaign is sent', async () => (await client.get(of)).at('status') === 'SENT');
    await taskTurn();
    return of;
  }
  const taskTurn = () => system.advanceClock(TASKS_EVERY_MS);
  const report = (client: ApiClient, of: string, status: string) =>
    eventually<ApiAnswer>(`the report is ${status}`, async () => {
      const answer = await client.get(`${of}/report`);
      return answer.at('status') === status ? answer : null;
    });
  const balance = async () => (await live.get('/credits/balance')).at<number>('balance');
  const book = async (command: 'grant' | 'adjust', credits: number) => {
    const [tenant] = await system.database.query<{ tenant_key: string }>(
      'select tenant_key from access.tenants where id = $1',
      [project.live.tenantId],
    );
    const options = ['--tenant', tenant?.tenant_key ?? '', '--description', 'By hand'];
    return runCliForJson({ DATABASE_URL: system.database.url }, [
      `credits:${command}`,
      '--credits',
      String(credits),
      ...options,
    ]);
  };

  it('bring their credits with the month of the subscription, once, and more after an upgrade', async () => {
    await taskTurn();
    await eventually('the free plan’s credits are there', async () => (await balance()) === 50);
    const [subscription] = await system.database.query<{ id: string; anchored_at: Date }>(
      'select id, anchored_at from billing.subscriptions where tenant_id = $1',
      [project.live.tenantId],
    );
    for (const aiCredits of [50, 80, 80]) {
      const periodStart = subscription?.anchored_at.toISOString();
      await system.database.query(
        `insert into platform.jobs (environment_id, name, queue, payload, run_at)
         values ($1, 'credits.grant_month', 'billing', $2, platform.now())`,
        [project.live.environmentId, { subscriptionId: Number(subscription?.id), aiCredits, periodStart }],
      );
    }
    await eventually('all are handled', async () => {
      const handled = await system.database.query(
        `select from platform.jobs where name = 'credits.grant_month' and state = 'DONE'`,
      );
      return handled.length === 4;
    });
    const list = await live.get('/credits/transactions');
    expect(list.at<{ type: string; amount: number }[]>('data')).toEqual([
      expect.objectContaining({ type: 'GRANT', amount: 30, balanceAfter: 80 }),
      expect.objectContaining({
        type: 'GRANT',
        amount: 50,
        balanceAfter: 50,
        description: 'Monthly credits',
      }),
    ]);
  });

  it('are written by themselves when their time has come, in the test environment by the built-in analyst', async () => {
    tried = await sentCampaign(test, 'test');
    const first = await report(test, tried, 'GENERATED');
    expect(first.body).toMatchObject({
      version: 1,
      aiModelId: 'builtin/analyst-1',
      locale: 'en',
      failureReason: null,
      content: expect.stringContaining('## Summary\n\n- 5 mails were sent, 5 arrived (100%).'),
    });
    const again = await test.post(`${tried}/report`);
    expect([again.status, again.at('version')]).toEqual([202, 2]);
    const second = await report(test, tried, 'GENERATED');
    expect(second.at('version')).toBe(2);
    expect(model.calls).toEqual([]);
  });

  it('are shown with the figures on a page, to whoever has a link that is good, and without an address', async () => {
    await report(test, tried, 'GENERATED');
    const [names] = await system.database.query<{ name: string }>(
      `select t.tenant_key || '/' || p.project_key as name
       from access.projects p join access.tenants t on t.id = p.tenant_id where p.id = $1`,
      [project.test.projectId],
    );
    const campaignKey = tried.split('/').at(-1) ?? '';
    const link = (await runCliForJson(system.variables, [
      'report:link',
      '--project',
      names?.name ?? '',
      '--env',
      'test',
      '--campaign',
      campaignKey,
    ])) as { url: string; expiresAt: string };
    expect(Math.round((Date.parse(link.expiresAt) - Date.now()) / 86_400_000)).toBe(30);
    const token = link.url.split('/r/').at(-1) ?? '';
    const page = await fetch(`${system.baseUrl}/r/${token}`);
    const body = await page.text();
    expect([page.status, page.headers.get('content-security-policy')]).toEqual([
      200,
      expect.stringContaining("default-src 'none'"),
    ]);
    expect(body).toContain('5 mails were sent, 5 arrived (100%).');
    // Five mails to one domain might be five people's own: it is not named.
    expect(body).toContain('All others');
    expect(body).not.toContain('@example');
    const tokens = new LinkTokens(system.variables['TOKEN_SECRET'] ?? '');
    const claims = tokens.verify(token, 'report');
    if (claims === null) throw new Error('The link is not signed with the secret.');
    const statusOf = async (other: string) => (await fetch(`${system.baseUrl}/r/${other}`)).status;
    expect(await statusOf(tokens.sign({ ...claims, expiresAt: new Date(Date.now() - 120_000) }))).toBe(410);
    expect(await statusOf(`${token.slice(0, -2)}${token.endsWith('AA') ? 'BB' : 'AA'}`)).toBe(404);
    expect(await statusOf(tokens.sign({ ...claims, kind: 'view' }))).toBe(404);
    // Another environment's token for the same campaign shows nothing of it.
    const { environmentId } = project.live;
    expect(await statusOf(tokens.sign({ ...claims, environmentId }))).toBe(404);
  });

  it('fail in the live environment without credits, and are written when there are some', async () => {
    await book('adjust', -(await balance()));
    expect((await live.get('/credits/balance')).body).toEqual({
      balance: 0,
      creditsDepleted: true,
      lastUpdatedAt: expect.any(String),
    });
    path = await sentCampaign(live, 'live');
    expect((await report(live, path, 'FAILED')).at('failureReason')).toBe('credits depleted');
    await eventually('the operator is told', () => system.worker.output().includes('AI credits depleted'));
    expect(await book('grant', 50)).toMatchObject({ balanceAfter: 50 });
    expect((await live.post(`${path}/report`)).status).toBe(202);
    expect((await report(live, path, 'GENERATED')).body).toMatchObject({
      version: 2,
      aiModelId: 'stand-in',
      content: '## Summary\n\nIt went well.\n',
    });
    expect(model.calls.map(({ authorization }) => authorization)).toEqual(['Bearer secret']);
    expect(await balance()).toBe(47);
    const list = await live.get('/credits/transactions?size=2');
    expect(list.at<{ type: string }[]>('data').map(({ type }) => type)).toEqual(['REFUND', 'CONSUMPTION']);
    expect(list.at('data', 0, 'balanceAfter')).toBe(47);
    expect(list.at('data', 0, 'referenceId')).toBe(list.at('data', 1, 'referenceId'));
    expect(list.at('pagination')).toMatchObject({ totalElements: 6, totalPages: 3, hasNext: true });
    // Credits are the tenant's, whichever key asks.
    expect((await test.get('/credits/balance')).at('balance')).toBe(47);
  });

  it('are charged once when the worker is killed while the model writes', async () => {
    const before = await balance();
    model.behave('silent');
    await live.post(`${path}/report`);
    await eventually('the model is asked', () => model.calls.length === 1);
    expect(await balance()).toBeLessThan(before);
    await system.worker.kill();
    model.behave({ answer: 'Written after all.' });
    system.worker = await startProgram('worker', system.variables);
    await system.advanceClock(LEASE_MS);
    expect((await report(live, path, 'GENERATED')).at('content')).toBe('Written after all.\n');
    expect(model.calls).toHaveLength(1);
    expect(await balance()).toBe(before - 3);
    expect(await runCliForJson({ DATABASE_URL: system.database.url }, ['check:credits'])).toEqual({
      discrepancies: [],
    });
  });
}
