import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Agent, request } from 'node:http';
import { text } from 'node:stream/consumers';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { type LoadBalancer, startLoadBalancer } from '#testing/servers/load-balancer';
import { type RunningProgram, startProgram } from '#testing/programs/program';
import { prepareProject, SECRETS } from '#testing/programs/system';

const CLIENTS = 10;
const ROUNDS = Number(process.env['ROLLING_RESTARTS'] ?? 1);
/** Well above the 50 ms after which the balancer asks again, and what a busy machine makes of them. */
const DELAY_MS = 15_000;

interface Answered {
  readonly status: number;
  readonly connection: string | undefined;
}

describe('two apis behind a load balancer, restarted one after the other under load', () => {
  let database: TestDatabase;
  let balancer: LoadBalancer;
  let apis: RunningProgram[];
  let headers: Record<string, string>;
  let topicKey: string;
  const failures: string[] = [];
  let answered = 0;
  let created = 0;

  const startApi = async (): Promise<RunningProgram> => {
    const api = await startProgram('api', {
      DATABASE_URL: database.url,
      SHUTDOWN_DELAY_MS: String(DELAY_MS),
      ...SECRETS,
    });
    balancer.add(api.port);
    await eventually('the balancer knows it', () => balancer.ready().includes(api.port));
    return api;
  };

  beforeAll(async () => {
    database = await createTestDatabase();
    balancer = await startLoadBalancer();
    apis = [await startApi(), await startApi()];
    const client = await (await prepareProject(database, balancer.url)).client('TEST');
    headers = { 'x-api-key': client.key ?? '' };
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
  });

  afterAll(async () => {
    await Promise.all((apis ?? []).map((api) => api.stop()));
    await balancer?.stop();
    await database?.drop();
  });

  /** One connection that is kept; nothing is tried again. */
  async function keepAsking(agent: Agent, isOver: () => boolean): Promise<void> {
    while (!isOver()) {
      created += 1;
      const body = {
        email: `reader-${created}@example.com`,
        topicKeys: [topicKey],
        consent: { source: 'form' },
      };
      await asked(() => ask(agent, 'POST', '/subscribers', body), 201);
      await asked(() => ask(agent, 'GET', `/subscribers?size=1`), 200);
    }
  }

  async function asked(send: () => Promise<Answered>, expected: number): Promise<void> {
    const outcome = await send().then(({ status }) => String(status), String);
    if (outcome !== String(expected)) failures.push(outcome);
    answered += 1;
  }

  function ask(
    agent: Agent,
    method: string,
    path: string,
    body?: object,
    base = balancer.url,
  ): Promise<Answered> {
    return new Promise((resolve, reject) => {
      const sent = body === undefined ? undefined : JSON.stringify(body);
      const type = sent === undefined ? {} : { 'content-type': 'application/json' };
      const outgoing = request(
        `${base}/api/v1${path}`,
        { agent, method, headers: { ...headers, ...type } },
        (answer) =>
          void text(answer).then(
            () => resolve({ status: answer.statusCode ?? 0, connection: answer.headers.connection }),
            reject,
          ),
      );
      outgoing.once('error', reject).end(sent);
    });
  }

  async function restart(at: number): Promise<number | null> {
    const old = apis[at];
    if (old === undefined) throw new Error('There is no such api.');
    const ended = old.stop();
    await eventually('the balancer leaves it', () => !balancer.ready().includes(old.port));
    await showDraining(old);
    const code = await ended;
    balancer.remove(old.port);
    apis[at] = await startApi();
    return code;
  }

  /** It still answers, says that it is not ready, and ends each connection. */
  async function showDraining({ port }: RunningProgram): Promise<void> {
    const url = `http://127.0.0.1:${port}`;
    const readiness = await fetch(`${url}/health/ready`);
    expect(readiness.status).toBe(503);
    expect(await readiness.json()).toMatchObject({ checks: { database: 'ok', accepting: 'failed' } });
    expect((await fetch(`${url}/health/live`)).status).toBe(200);
    const kept = new Agent({ keepAlive: true });
    expect(await ask(kept, 'GET', '/project', undefined, url)).toEqual({ status: 200, connection: 'close' });
    kept.destroy();
  }

  it('fail no request, and lose none of what was sent to them', async () => {
    let isOver = false;
    const agents = Array.from({ length: CLIENTS }, () => new Agent({ keepAlive: true, maxSockets: 1 }));
    const asking = Promise.all(agents.map((agent) => keepAsking(agent, () => isOver)));
    const codes: (number | null)[] = [];
    const before = answered;
    for (let round = 0; round < ROUNDS; round += 1) {
      codes.push(await restart(0), await restart(1));
    }
    isOver = true;
    await asking;
    for (const agent of agents) agent.destroy();
    expect(failures).toEqual([]);
    expect(codes).toEqual(codes.map(() => 0));
    expect(answered - before).toBeGreaterThan(100);
    const [row] = await database.query<{ n: number }>(`select count(*)::int as n from audience.subscribers`);
    expect(row?.n).toBe(created);
  });
});
