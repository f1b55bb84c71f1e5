import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import sharp from 'sharp';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { sharedDns } from '#testing/programs/shared-system-client';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

type Links = Readonly<Record<'unsubscribe' | 'preferences' | 'view', string>>;

interface Sender {
  readonly project: SystemProject;
  readonly client: ApiClient;
  readonly host: string;
}

interface Mail {
  readonly links: Links;
  readonly raw: string;
  readonly tracked: readonly string[];
}

describe('tracking hosts', () => {
  let system: SharedSystem;
  let mine: Sender;
  let others: Sender;
  let people = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    mine = await sender('links.mine.example');
    others = await sender('links.others.example');
  });
  afterAll(() => system?.stop());

  async function sender(host: string): Promise<Sender> {
    const project = await system.project();
    return { project, client: await project.client('TEST'), host };
  }

  async function verify({ client, host }: Sender): Promise<void> {
    await sharedDns.a(host, '127.0.0.1');
    expect((await client.patch('/project', { trackingHost: host })).status).toBe(200);
    await eventually(`${host} is verified`, async () => {
      return (await client.get('/project')).at('trackingHostStatus', 'status') === 'VERIFIED';
    });
  }

  async function mailOf({ client }: Sender): Promise<Mail> {
    const email = `host-reader${(people += 1)}@example.com`;
    const topic = await client.post('/topics', { name: `News ${people}`, doubleOptInEnabled: false });
    const consent = { source: 'form' };
    await client.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
    const contentJson = JSON.stringify({
      blocks: [{ type: 'button', label: 'Read', url: 'https://acme.example/one' }],
    });
    const draft = { name: 'May', subject: 'May', contentJson, topicIds: [topic.at('id')] };
    const campaign = await client.post('/campaigns', draft);
    await client.post(`/campaigns/${campaign.at('campaignKey')}/send`);
    return mailTo(client, email, 'CAMPAIGN');
  }

  async function mailTo(client: ApiClient, email: string, kind: string): Promise<Mail> {
    const inbox = await eventually(`the mail to ${email}`, async () => {
      const answer = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return answer.at<unknown[]>('data').length > 0 && answer;
    });
    const raw = (await client.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}/raw`)).text;
    const html = inbox.at<Links>('data', 0, 'links');
    const text = raw.replaceAll('=\r\n', '').replaceAll('=3D', '=');
    return { links: html, raw: text, tracked: text.match(/https?:\/\/[^"\s]+\/[lo]\/[\w-]{56}/g) ?? [] };
  }

  /** Asks as a proxy does that passes the reader's host on. */
  function by(host: string, path: string, method = 'GET') {
    const url = new URL(path, system.baseUrl);
    const headers = { host, 'user-agent': 'Mozilla/5.0', accept: '*/*' };
    return new Promise<{ status: number; body: string; id: unknown }>((resolve, reject) => {
      const asked = request(url, { method, headers }, (answer) => {
        let body = '';
        answer.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
        const { statusCode: status = 0 } = answer;
        answer.on('end', () => resolve({ status, body, id: answer.headers['x-request-id'] }));
      });
      asked.on('error', reject).end();
    });
  }
  const statusesBy = async (host: string, { links, tracked }: Mail) => {
    const paths = [...Object.values(links), ...tracked].map((url) => new URL(url).pathname);
    return Promise.all(paths.map(async (path) => (await by(host, path)).status));
  };
  const tlsCheck = async (query: string) =>
    (await fetch(`${system.baseUrl}/internal/tls-check${query}`)).status;

  it('are refused when they are none, or another project’s', async () => {
    for (const [trackingHost, status] of [
      ['https://links.mine.example', 400],
      ['192.0.2.1', 400],
      [7, 400],
    ] as const) {
      const answer = await mine.client.patch('/project', { trackingHost });
      expect([answer.status, answer.at('errors', 'trackingHost')]).toEqual([status, expect.any(String)]);
    }
    await others.client.patch('/project', { trackingHost: 'links.taken.example' });
    const answer = await mine.client.patch('/project', { name: 'x', trackingHost: 'Links.Taken.example' });
    expect([answer.status, answer.at('errors')]).toEqual([
      422,
      { trackingHost: 'is the tracking host of another project' },
    ]);
    expect((await mine.client.get('/project')).at('name')).not.toBe('x');
  });

  it('are waited for until they point here, and then begin the links of mails', async () => {
    const { client, host } = mine;
    const named = await client.patch('/project', { trackingHost: host });
    expect(named.body).toMatchObject({
      trackingHost: host,
      trackingHostStatus: { expectedRecord: { type: 'CNAME', name: host, value: 'localhost' } },
    });
    await eventually('it was looked at', async () => {
      return (await client.get('/project')).at('trackingHostStatus', 'status') === 'FAILED';
    });
    expect(await tlsCheck(`?domain=${host}`)).toBe(404);
    const early = await mailOf(mine);
    expect(early.links.unsubscribe.startsWith(`${system.baseUrl}/u/`)).toBe(true);

    await verify(mine);
    const mail = await mailOf(mine);
    expect(mail.tracked).toHaveLength(2);
    for (const url of [...mail.tracked, ...Object.values(mail.links)])
      expect(url.startsWith(`https://${host}/`)).toBe(true);
    expect(mail.raw).toMatch(new RegExp(`^List-Unsubscribe: [^:]*<https://${host}/u/`, 'm'));
    expect(mail.raw).not.toContain(system.baseUrl);
    const optIn = await client.post('/topics', { name: 'Asked twice' });
    const consent = { source: 'form' };
    const topicKeys = [optIn.at('topicKey')];
    await client.post('/subscribers', { email: 'twice@example.com', topicKeys, consent });
    const { links } = await mailTo(client, 'twice@example.com', 'OPT_IN');
    expect(links).toMatchObject({ confirm: expect.stringMatching(`^https://${host}/c/`) });
  });

  it('serve the mails of their own project alone; PUBLIC_URL serves all', async () => {
    await Promise.all([verify(mine), verify(others)]);
    const [one, other] = [await mailOf(mine), await mailOf(others)];
    const served = [200, 200, 200, 302, 200];
    const refused = Array.from({ length: 5 }, () => 404);
    await eventually('both hosts are known', async () => {
      return (await by(mine.host, '/docs')).status === 404 && (await by(others.host, '/docs')).status === 404;
    });
    // Twice: a link that was followed is answered by a shorter way.
    for (let time = 1; time <= 2; time += 1) {
      expect(await statusesBy(mine.host, one)).toEqual(served);
      expect(await statusesBy(`${others.host.toUpperCase()}:443`, other)).toEqual(served);
      expect(await statusesBy(mine.host, other)).toEqual(refused);
      expect(await statusesBy(`${others.host}:8443`, one)).toEqual(refused);
      for (const mail of [one, other])
        expect(await statusesBy(new URL(system.baseUrl).host, mail)).toEqual(served);
    }
    const foreign = await by(others.host, new URL(one.links.unsubscribe).pathname);
    expect(foreign.body).toContain('<html');
    expect(foreign.id).toMatch(/^[\w.-]+$/);
    const press = await by(others.host, new URL(one.links.unsubscribe).pathname, 'POST');
    expect(press.status).toBe(404);
  });

  it('serve nothing but the paths of mails', async () => {
    await verify(mine);
    await eventually('the host is known', async () => (await by(mine.host, '/docs')).status === 404);
    for (const path of [
      '/',
      '/docs',
      '/openapi.json',
      '/metrics',
      '/internal/tls-check',
      '/api/v1/project',
      '/x',
    ])
      for (const method of ['GET', 'POST']) {
        const answer = await by(mine.host, path, method);
        expect([path, answer.status, JSON.parse(answer.body).type]).toEqual([
          path,
          404,
          expect.stringMatching(/\/problems\/not-found$/),
        ]);
      }
  });

  it('show the images of their project alone', async () => {
    const picture = await sharp({ create: { width: 8, height: 8, channels: 3, background: '#c33' } })
      .png()
      .toBuffer();
    const upload = async ({ client }: Sender): Promise<string> => {
      const made = await client.post('/media', picture, { headers: { 'content-type': 'image/png' } });
      return new URL(made.at('url')).pathname;
    };
    const [own, foreign] = [await upload(mine), await upload(others)];
    expect([
      (await by(mine.host, own)).status,
      (await by(mine.host, `${own}?w=16`)).status,
      (await by(mine.host, foreign)).status,
      (await by(mine.host, '/media/none.png')).status,
    ]).toEqual([200, 200, 404, 404]);
  });

  it('and PUBLIC_URL’s are those for which a certificate is wanted', async () => {
    await verify(mine);
    await eventually('a certificate is wanted', async () => (await tlsCheck(`?domain=${mine.host}`)) === 200);
    expect(await tlsCheck('?domain=localhost')).toBe(200);
    for (const query of [
      '',
      '?domain=',
      '?domain=links.unknown.example',
      `?domain=${mine.host}&domain=${mine.host}`,
      '?domain=..',
      `?domain=x.${mine.host}`,
    ])
      expect([query, await tlsCheck(query)]).toEqual([query, 404]);
  });
});
