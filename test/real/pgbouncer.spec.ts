import { afterAll, beforeAll, expect, it } from '@jest/globals';
import pg from 'pg';
import { Database } from '../../libs/platform/src/database/database.js';
import type { ApiClient } from '#testing/http/api-client';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, SECRETS, startSystemOn, type SystemProject } from '#testing/programs/system';
import { describeWith } from './parts.js';
import { type PgBouncer, startPgBouncer } from './support/pgbouncer.js';

/** As poolers are often set up: what clients ask for in their first message is dropped. */
const USUAL = { ignore_startup_parameters: 'extra_float_digits,options,statement_timeout' };

const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: '<p>Hello</p>' }] });

describeWith(['pgbouncer'], 'behind PgBouncer in session mode', () => {
  let bouncer: PgBouncer;
  let system: RunningSystem;
  let projects: SystemProject[];
  let client: ApiClient;
  let topic: { readonly topicKey: string; readonly id: string };

  beforeAll(async () => {
    const database = await createTestDatabase();
    bouncer = await startPgBouncer({ url: database.url, poolMode: 'session', settings: USUAL });
    system = await startSystemOn(database, { DATABASE_URL: bouncer.url });
    projects = [await system.project('FIRST'), await system.project('OTHER')];
    client = await projects[0]!.client('TEST');
    topic = await makeTopic(client);
  });

  afterAll(async () => {
    await system?.stop();
    await bouncer?.stop();
  });

  async function makeTopic(of: ApiClient): Promise<typeof topic> {
    const made = await of.post('/topics', { name: 'News', doubleOptInEnabled: true });
    expect(made.status).toBe(201);
    return { topicKey: made.at('topicKey'), id: made.at('id') };
  }

  const signUp = (of: ApiClient, email: string, topicKey: string) =>
    of.post('/subscribers', { email, topicKeys: [topicKey], consent: { source: 'form' } });

  const mailOf = (kind: string) =>
    eventually(`a ${kind} mail`, async () => {
      const inbox = await client.get(`/test-inbox/messages?kind=${kind}`);
      return inbox.at<unknown[]>('data').length > 0 ? inbox : null;
    });

  it('takes a sign-up, asks by mail whether it is meant, and sends a campaign to who said yes', async () => {
    expect((await signUp(client, 'ada@example.com', topic.topicKey)).status).toBe(201);
    const optIn = await mailOf('OPT_IN');
    expect((await fetch(optIn.at('data', 0, 'links', 'confirm'), { method: 'POST' })).status).toBe(200);
    const campaign = await client.post('/campaigns', {
      name: 'Autumn',
      subject: 'Autumn',
      contentJson,
      topicIds: [topic.id],
    });
    const key = campaign.at('campaignKey');
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    expect((await mailOf('CAMPAIGN')).at('data', 0, 'to')).toBe('ada@example.com');
    expect((await client.get('/subscribers')).at<unknown[]>('data')).toHaveLength(1);
  });

  it('answers that it is ready', async () => {
    expect((await fetch(`${system.baseUrl}/health/ready`)).status).toBe(200);
    expect((await fetch(`http://127.0.0.1:${system.worker.port}/health/ready`)).status).toBe(200);
  });

  it('shows no row of another project, though a statement forgets to ask for its own', async () => {
    const other = await projects[1]!.client('TEST');
    await signUp(other, 'hidden@example.com', (await makeTopic(other)).topicKey);
    const database = await Database.connect({
      url: bouncer.url,
      poolSize: 2,
      applicationName: 'spec',
      entities: [],
    });
    try {
      const everybody = 'select email from audience.subscribers';
      expect((await database.pool.query(everybody)).rows).toEqual([]);
      const { rows } = await database.pool.query('select current_user as "user"');
      expect(rows).toEqual([{ user: 'mailwright_app' }]);
      const seen = await database.transaction(projects[0]!.test, () => database.em.execute(everybody));
      expect(seen).toEqual([{ email: 'ada@example.com' }]);
    } finally {
      await database.close();
    }
  });

  it('leaves no setting behind for the next client of a server connection', async () => {
    const next = new pg.Client({ connectionString: bouncer.url });
    await next.connect();
    try {
      const { rows } = await next.query(
        `select current_user = session_user as plain, current_setting('mailwright.environment_id', true) as scope`,
      );
      expect(rows[0]).toMatchObject({ plain: true });
      expect([null, '']).toContain(rows[0]?.scope);
    } finally {
      await next.end();
    }
  });
});

describeWith(['pgbouncer'], 'behind PgBouncer in session mode, set up for nothing of ours', () => {
  it('works without any startup parameter that PgBouncer has to ignore', async () => {
    const database = await createTestDatabase();
    const bouncer = await startPgBouncer({ url: database.url, poolMode: 'session' });
    const system = await startSystemOn(database, { DATABASE_URL: bouncer.url });
    try {
      expect((await fetch(`${system.baseUrl}/health/ready`)).status).toBe(200);
    } finally {
      await system.stop();
      await bouncer.stop();
    }
  });
});

/** Two that are in transactions at once need one each. */
async function openTwoServerConnections(connectionString: string): Promise<void> {
  const clients = [new pg.Client({ connectionString }), new pg.Client({ connectionString })];
  for (const client of clients) await client.connect();
  for (const client of clients) await client.query('begin');
  for (const client of clients) await client.end();
}

describeWith(['pgbouncer'], 'behind PgBouncer in transaction mode', () => {
  let database: TestDatabase;

  beforeAll(async () => {
    database = await createTestDatabase();
  });
  afterAll(() => database?.drop());

  it.each([
    ['many server connections', { default_pool_size: 20 }],
    ['server connections in turn', { default_pool_size: 20, min_pool_size: 8, server_round_robin: 1 }],
    ['two in turn', { default_pool_size: 2, min_pool_size: 2, server_round_robin: 1 }],
    ['one server connection', { default_pool_size: 1 }],
  ])('refuses to start, and says why, with %s', async (_, settings) => {
    const bouncer = await startPgBouncer({
      url: database.url,
      poolMode: 'transaction',
      settings: { ...USUAL, ...settings },
    });
    try {
      if (settings.default_pool_size > 1) await openTwoServerConnections(bouncer.url);
      for (const program of ['api', 'worker'] as const) {
        const started = startProgram(program, { DATABASE_URL: bouncer.url, ...SECRETS });
        await expect(started).rejects.toThrow(/pooler .* transaction mode/);
      }
    } finally {
      await bouncer.stop();
    }
  });
});

describeWith(['pgbouncer'], 'behind a PgBouncer that is switched to transaction mode and back', () => {
  let bouncer: PgBouncer;
  let system: RunningSystem;
  let clients: ApiClient[];

  beforeAll(async () => {
    const database = await createTestDatabase();
    bouncer = await startPgBouncer({ url: database.url, poolMode: 'session', settings: USUAL });
    system = await startSystemOn(database, { DATABASE_URL: bouncer.url });
    clients = await Promise.all(
      ['FIRST', 'OTHER', 'THIRD'].map(async (key) => (await system.project(key)).client('TEST')),
    );
    for (const [index, client] of clients.entries())
      await client.post('/topics', { name: `Of ${index}`, doubleOptInEnabled: true });
  });

  afterAll(async () => {
    await system?.stop();
    await bouncer?.stop();
  });

  /** Sends many requests of each project at once, which look it up in all ways that there are. */
  async function rush(): Promise<number[]> {
    const requests = Array.from({ length: 20 }, () =>
      clients.map((client, index) => ask(client, index)),
    ).flat();
    return Promise.all(requests);
  }

  async function ask(client: ApiClient, index: number): Promise<number> {
    const topics = await client.get('/topics');
    if (topics.status !== 200) {
      expect([topics.status, topics.headers.get('retry-after')]).toEqual([503, '1']);
      return topics.status;
    }
    expect(topics.at<{ name: string }[]>('data').map(({ name }) => name)).toEqual([`Of ${index}`]);
    return 200;
  }

  const readiness = async (port: number) => {
    const answer = await fetch(`http://127.0.0.1:${port}/health/ready`);
    return { status: answer.status, text: await answer.text() };
  };
  const said = (output: string) =>
    output
      .split('\n')
      .filter((line) => line !== '')
      .map((line) => (JSON.parse(line) as { msg: string }).msg);

  it('answers 503 rather than in the session of somebody else, and goes on by itself', async () => {
    expect(new Set(await rush())).toEqual(new Set([200]));
    await bouncer.switchTo('transaction');
    await eventually('requests stop', async () => new Set(await rush()).has(503));
    await eventually('it is known', () => said(system.api.output()).length > 0);
    expect(new Set(await rush())).toEqual(new Set([503]));
    const { status, text } = await readiness(system.api.port);
    expect([status, text]).toEqual([503, expect.stringContaining('pooler in transaction mode')]);
    await bouncer.switchTo('session');
    await eventually('all requests are answered', async () => !new Set(await rush()).has(503));
    for (const program of [system.api, system.worker])
      await eventually('it is ready', async () => (await readiness(program.port)).status === 200);
    // Told when the next can be written, before or after the other.
    const missing = 'requests are missing in the log of requests';
    expect(said(system.api.output()).filter((line) => line !== missing)).toEqual([
      'PostgreSQL cannot be used',
      'PostgreSQL can be used again',
    ]);
    const [client] = clients;
    const topic = await client!.post('/topics', { name: 'After', doubleOptInEnabled: true });
    await client!.post('/subscribers', {
      email: 'ada@example.com',
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'form' },
    });
    await eventually('jobs run', async () => {
      const inbox = await client!.get('/test-inbox/messages?to=ada@example.com');
      return inbox.at<unknown[]>('data').length > 0;
    });
  });
});
