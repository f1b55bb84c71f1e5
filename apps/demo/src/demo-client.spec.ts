import { once } from 'node:events';
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventually } from '#testing/time/eventually';
import { letTimeGo, passTime, stopTime, waitingTimers } from '#testing/time/time-limits';
import { type ApiCall, DemoClient, type SentRequest, UnreachableError } from './demo-client.js';
import { listAt } from './answer.js';

const KEY = 'mw_test_secret';
const getProject: ApiCall = (mailwright) => mailwright.project.get();

interface Reply {
  readonly status?: number;
  readonly headers?: Record<string, string>;
  readonly json?: unknown;
}

describe('the client of the demo', () => {
  let server: Server;
  let baseUrl: string;
  let requests: { request: IncomingMessage; body: string }[];
  let replies: Reply[];
  let waits: number[];
  let now: number;
  let pauses: number[];
  let client: DemoClient;

  beforeEach(async () => {
    [requests, replies, waits, pauses] = [[], [], [], []];
    now = Date.parse('2026-11-21T06:00:00.000Z');
    server = createServer((request, response) => {
      void text(request).then((body) => {
        requests.push({ request, body });
        const { status = 200, headers = {}, json = {} } = replies.shift() ?? {};
        response.writeHead(status, { 'content-type': 'application/json', ...headers });
        return response.end(JSON.stringify(json));
      });
    }).listen(0, '127.0.0.1');
    await once(server, 'listening');
    const address = server.address();
    baseUrl = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
    client = new DemoClient({ baseUrl, key: KEY }, (seconds) => void waits.push(seconds), {
      now: () => now,
      wait: async (ms) => {
        pauses.push(ms);
        now += ms;
      },
    });
  });

  afterEach(async () => {
    letTimeGo();
    server.closeAllConnections();
    if (server.listening) await new Promise((resolve) => server.close(resolve));
  });

  it('shows its key to the API and to nobody else', async () => {
    await client.send((mailwright) =>
      mailwright.subscribers.create({ email: 'ada@example.com', topicKeys: [], consent: { source: 'demo' } }),
    );
    await client.send({
      method: 'POST',
      url: `${baseUrl}/u/token`,
      form: { 'List-Unsubscribe': 'One-Click' },
    });
    const [api, page] = requests;
    expect(api?.request.headers['x-api-key']).toBe(KEY);
    expect(JSON.parse(api?.body ?? '')).toMatchObject({ email: 'ada@example.com' });
    expect(page?.request.headers['x-api-key']).toBeUndefined();
    expect(page?.request.headers['content-type']).toMatch(/^application\/x-www-form-urlencoded/);
    expect(page?.body).toBe('List-Unsubscribe=One-Click');
    expect(client.requests).toBe(2);
  });

  it('comes back when it is told to after one request too many', async () => {
    replies = [{ status: 429, headers: { 'retry-after': '1' } }, { json: { ok: true } }];
    stopTime();
    const sent = client.send(getProject);
    await eventually('it waits', () => waitingTimers().includes(1_000));
    passTime(999);
    expect(waits).toEqual([1]);
    expect(waitingTimers()).toContain(1);
    passTime(1);
    expect(await sent).toMatchObject({ status: 200, json: { ok: true } });
  });

  it('waits for the next minute before it would be refused', async () => {
    const reset = now / 1_000 + 3;
    replies = [{ headers: { 'x-ratelimit-remaining': '0', 'x-ratelimit-reset': String(reset) } }];
    await client.send(getProject);
    await client.send({ method: 'GET', url: `${baseUrl}/c/token` });
    expect(waits).toEqual([]);
    await client.send(getProject);
    expect([waits, pauses]).toEqual([[3], [3_000]]);
  });

  it('gives up on a key that is always refused', async () => {
    replies = Array.from({ length: 9 }, () => ({ status: 429, headers: { 'retry-after': '0' } }));
    expect((await client.send(getProject)).status).toBe(429);
    expect(client.requests).toBe(3);
  });

  it('asks again, ever more slowly, until the answer is there', async () => {
    replies = [{ json: { data: [] } }, { json: { data: [] } }, { json: { data: ['mail'] } }];
    const sent: SentRequest[] = [];
    const { answer, times } = await client.poll(getProject, {
      isDone: (given) => listAt(given, 'data').length > 0,
      patienceMs: 30_000,
      onSent: (request) => void sent.push(request),
    });
    expect(sent).toEqual([{ method: 'GET', url: '/api/v1/project' }]);
    expect([answer.json, times]).toEqual([{ data: ['mail'] }, 3]);
    expect(pauses.splice(0)).toEqual([250, 500]);
    replies = [];
    const impatient = await client.poll(getProject, { isDone: () => false, patienceMs: 1_750 });
    expect(impatient.times).toBe(4);
    expect(pauses).toEqual([250, 500, 1_000]);
  });

  it('stops asking when patience ends, and at once when it is refused', async () => {
    const impatient = await client.poll(getProject, { isDone: () => false, patienceMs: 100 });
    expect(impatient).toMatchObject({ answer: { status: 200 }, times: 2 });
    replies = [{ status: 404 }];
    expect(await client.poll(getProject, { isDone: () => false, patienceMs: 30_000 })).toMatchObject({
      times: 1,
    });
  });

  it('says that nobody answers', async () => {
    await new Promise((resolve) => server.close(resolve));
    const failure = client.send(getProject);
    await expect(failure).rejects.toThrow(UnreachableError);
    await expect(failure).rejects.toThrow(`${baseUrl} does not answer (ECONNREFUSED)`);
  });
});
