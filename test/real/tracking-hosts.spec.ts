import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { eventually } from '#testing/time/eventually';
import { startProgram } from '#testing/programs/program';
import { type RunningSystem, startSystem } from '#testing/programs/system';
import { describeWith } from './parts.js';
import { type Caddy, startCaddy } from './support/caddy.js';

const PUBLIC_HOST = 'mail.example.com';
const PUBLIC_URL = `https://${PUBLIC_HOST}`;
const HOST = 'links.customer.test';
/** Caddy's alert, when it has no certificate. */
const REFUSED: unknown = expect.stringContaining('alert internal error');
const TARGET = 'https://acme.example/one';

describeWith(['caddy'], 'tracking hosts behind the Caddy of the documentation', () => {
  let dns: DnsServer;
  let system: RunningSystem;
  let client: ApiClient;
  let caddy: Caddy;

  beforeAll(async () => {
    dns = await startDnsServer();
    dns.a(PUBLIC_HOST, '127.0.0.1');
    system = await startSystem({ DNS_SERVERS: dns.address, PUBLIC_URL, TRUST_PROXY: 'true' });
    await system.worker.stop();
    system.worker = await startProgram('worker', { ...system.variables, PUBLIC_URL });
    client = await (await system.project()).client('TEST');
    const page = readFileSync('docs/tracking-hosts.md', 'utf8');
    const caddyfile = /```text\n(\{\n.*?)```/s.exec(page)?.[1] ?? '';
    expect(caddyfile.match(/127\.0\.0\.1:3000/g)).toHaveLength(3);
    caddy = await startCaddy(caddyfile.replaceAll('127.0.0.1:3000', new URL(system.baseUrl).host));
  });
  afterAll(async () => {
    await caddy?.stop();
    await system?.stop();
    await dns?.stop();
  });

  async function mailTo(email: string) {
    const topic = await client.post('/topics', { name: email, doubleOptInEnabled: false });
    const consent = { source: 'form' };
    await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
    const contentJson = JSON.stringify({ blocks: [{ type: 'button', label: 'Read', url: TARGET }] });
    const draft = { name: 'May', subject: 'May', contentJson, topicIds: [topic.at('id')] };
    const campaign = await client.post('/campaigns', draft);
    await client.post(`/campaigns/${campaign.at('campaignKey')}/send`);
    const inbox = await eventually(`the mail to ${email}`, async () => {
      const answer = await client.get(`/test-inbox/messages?kind=CAMPAIGN&to=${encodeURIComponent(email)}`);
      return answer.at<unknown[]>('data').length > 0 && answer;
    });
    const raw = (await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}/raw`)).text;
    const [link = ''] = raw.replaceAll('=\r\n', '').match(/https:\/\/[^"\s]+\/l\/[\w-]{56}/) ?? [];
    return { link, unsubscribe: inbox.at('data', 0, 'links', 'unsubscribe') };
  }
  /** Result of the handshake: `done`, or the error. */
  const shaken = (url: string) =>
    caddy.visit(url).then(
      () => 'done',
      (error: Error) => error.message,
    );

  it('have no certificate before they point here', async () => {
    await client.patch('/project', { trackingHost: HOST });
    await eventually('it was looked at', async () => {
      return (await client.get('/project')).at('trackingHostStatus', 'status') === 'FAILED';
    });
    expect(await shaken(`https://${HOST}/`)).toEqual(REFUSED);
  });

  it('get one then, and serve the links of their mails and nothing else', async () => {
    dns.cname(HOST, PUBLIC_HOST);
    await client.patch('/project', { trackingHost: HOST });
    await eventually('it is verified', async () => {
      return (await client.get('/project')).at('trackingHostStatus', 'status') === 'VERIFIED';
    });
    const { link, unsubscribe } = await mailTo('ada@example.com');
    expect([new URL(link).origin, new URL(unsubscribe).origin]).toEqual([
      `https://${HOST}`,
      `https://${HOST}`,
    ]);
    await eventually('a certificate is there', async () => (await shaken(link)) === 'done');
    expect(await caddy.visit(link)).toMatchObject({ status: 302, location: TARGET });
    expect(await caddy.visit(unsubscribe)).toMatchObject({
      status: 200,
      body: expect.stringContaining('<html'),
    });
    for (const path of ['/', '/docs', '/api/v1/project', `/internal/tls-check?domain=${HOST}`])
      expect([path, (await caddy.visit(`https://${HOST}${path}`)).status]).toEqual([path, 404]);
    expect(await caddy.visit(link.replace(HOST, PUBLIC_HOST))).toMatchObject({
      status: 302,
      location: TARGET,
    });
    expect((await caddy.visit(unsubscribe, 'POST')).status).toBe(200);
  });

  it('leave the api where it is, without what is internal', async () => {
    for (const [path, status] of [
      ['/docs', 200],
      ['/api/v1/project', 401],
      [`/internal/tls-check?domain=${HOST}`, 404],
    ] as const)
      expect([path, (await caddy.visit(PUBLIC_URL + path)).status]).toEqual([path, status]);
  });

  it('that nobody has named get no certificate', async () => {
    dns.cname('links.stranger.test', PUBLIC_HOST);
    for (const host of ['links.stranger.test', `x.${HOST}`, `x.${PUBLIC_HOST}`])
      expect([host, await shaken(`https://${host}/`)]).toEqual([host, REFUSED]);
  });
});
