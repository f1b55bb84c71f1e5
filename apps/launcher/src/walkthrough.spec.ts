import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { text } from 'node:stream/consumers';
import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { walkthrough } from './walkthrough.js';

const topics = { doubleOptIn: 'DEMO-1', singleOptIn: 'DEMO-2' };
const TOPIC = '0198f2c0-0000-7000-8000-000000000001';

const campaignBody = z.object({ contentJson: z.string(), topicIds: z.array(z.string()) });

/** Answer of the api, with enough in it for the commands to find the values that they take out. */
function answer(base: string, request: IncomingMessage, earlier: readonly string[]): unknown {
  const { pathname, searchParams } = new URL(request.url ?? '', base);
  const called = `${request.method} ${pathname}`;
  if (called === 'GET /api/v1/topics/DEMO-1') return { id: TOPIC, topicKey: 'DEMO-1', name: 'News' };
  if (called === 'POST /api/v1/campaigns') return { id: TOPIC, campaignKey: 'DEMO-001' };
  if (called === 'GET /api/v1/campaigns/DEMO-001/report/statistics') return { totalSent: 1 };
  // The first look at a campaign and into the inbox comes before the mail does.
  const isFirst = earlier.filter((line) => line.startsWith(called)).length === 1;
  if (called === 'GET /api/v1/campaigns/DEMO-001') return { status: isFirst ? 'SENDING' : 'SENT' };
  if (called !== 'GET /api/v1/test-inbox/messages') return {};
  if (isFirst) return { data: [] };
  const kind = searchParams.get('kind');
  const links = kind === 'OPT_IN' ? { confirm: `${base}/c/token-1` } : { view: `${base}/v/token-2` };
  return { data: [{ id: TOPIC, to: searchParams.get('to'), kind, links }] };
}

async function stubApi() {
  const calls: string[] = [];
  const bodies: Record<string, unknown> = {};
  let base = '';
  const serve = async (request: IncomingMessage, response: ServerResponse) => {
    const body = await text(request);
    const path = (request.url ?? '').replace(/ada(\+|%2B)\d+/gi, 'READER');
    calls.push(`${request.method} ${path}`);
    if (body !== '') bodies[path] = JSON.parse(body.replace(/ada\+\d+/, 'READER'));
    const keyed = !path.startsWith('/api/') || request.headers['x-api-key'] === 'mw_test_key';
    response.statusCode = keyed ? 200 : 401;
    response.end(JSON.stringify(answer(base, request, calls)));
  };
  const server = createServer((request, response) => void serve(request, response)).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  base = `http://127.0.0.1:${typeof address === 'object' && address !== null ? address.port : 0}`;
  return { base, calls, bodies, close: () => server.close() };
}

describe('the walk-through', () => {
  it('works when it is pasted into a shell as it stands', async () => {
    const api = await stubApi();
    const shell = spawn('sh', ['-e'], { stdio: ['pipe', 'pipe', 'pipe'] });
    shell.stdin.end(walkthrough({ baseUrl: api.base, testKey: 'mw_test_key' }, topics));
    const [output, complaints] = await Promise.all([text(shell.stdout), text(shell.stderr)]);
    api.close();

    expect(complaints).toBe('');
    const messages = 'GET /api/v1/test-inbox/messages?to=READER%40example.com&kind=';
    expect(api.calls).toEqual([
      'GET /api/v1/topics',
      'POST /api/v1/subscribers',
      `${messages}OPT_IN`,
      `${messages}OPT_IN`,
      'POST /c/token-1',
      'GET /api/v1/subscribers/READER@example.com/consents',
      'GET /api/v1/topics/DEMO-1',
      'POST /api/v1/campaigns',
      'POST /api/v1/campaigns/DEMO-001/send',
      `${messages}CAMPAIGN`,
      `${messages}CAMPAIGN`,
      'GET /api/v1/campaigns/DEMO-001',
      'GET /api/v1/campaigns/DEMO-001',
      'GET /api/v1/campaigns/DEMO-001/report/statistics',
      'GET /api/v1/campaigns/DEMO-001/report/export',
    ]);
    expect(api.bodies['/api/v1/subscribers']).toEqual({
      email: 'READER@example.com',
      firstName: 'Ada',
      topicKeys: ['DEMO-1', 'DEMO-2'],
      consent: { source: 'walk-through' },
    });
    const campaign = campaignBody.parse(api.bodies['/api/v1/campaigns']);
    expect(campaign.topicIds).toEqual([TOPIC]);
    expect(JSON.parse(campaign.contentJson)).toHaveProperty(
      'blocks.0.text',
      'Hello {{ subscriber.first_name | default: "there" }}',
    );
    expect(output).toContain('200\n');
    expect(output).toContain('{"totalSent":1}\n');
    expect(output).toContain(`${api.base}/c/token-1\n`);
  });

  it('has no quote in a comment, which an interactive zsh would take for the beginning of a word', () => {
    const comments = walkthrough({ baseUrl: 'http://localhost:3000', testKey: 'mw_test_key' }, topics)
      .split('\n')
      .filter((line) => line.startsWith('#'));
    expect(comments.length).toBeGreaterThan(5);
    for (const comment of comments) expect(comment).not.toMatch(/['"`$;&|()<>*?!]/);
  });
});
