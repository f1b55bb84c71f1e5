import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { LinkTokens } from '../../libs/platform/src/secrets/link-tokens.js';
import type { ApiClient } from '#testing/http/api-client';
import { expectProblem } from '#testing/http/problems';
import { SECRETS, type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const DAY_MS = 86_400_000;
const EVIL = '"><script>alert(1)</script>';

describe('the page that shows a campaign or a template', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let key: string;
  let url: string;
  let expiresAt: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const consent = { source: 'form' };
    const reader = {
      email: 'grace@example.com',
      firstName: 'Grace',
      topicKeys: [topic.at('topicKey')],
      consent,
    };
    expect((await client.post('/subscribers', reader)).status).toBe(201);
    const created = await client.post('/campaigns', {
      name: `Spring ${EVIL}`,
      subject: 'Hello {{ subscriber.first_name }}',
      previewText: 'For {{ subscriber.last_name }}',
      html: `<html><head><style>@media (prefers-color-scheme: dark) { h1 { color: #fff } }</style></head><body><h1>Hi {{ subscriber.first_name }}</h1></body></html>`,
      translations: { de: { subject: 'Hallo', contentText: 'Neues für {{ subscriber.first_name }}' } },
      topicIds: [topic.at('id')],
    });
    key = created.at('campaignKey');
    const link = await client.post(`/campaigns/${key}/preview-link`);
    ({ url, expiresAt } = link.body as { url: string; expiresAt: string });
  });
  afterAll(() => system?.stop());

  const look = async (query = '', from = url) => {
    const answer = await fetch(`${from}${query}`);
    return { status: answer.status, headers: answer.headers, text: await answer.text() };
  };
  /** The same link, good until then. */
  const until = (moment: Date): string => {
    const tokens = new LinkTokens(SECRETS.TOKEN_SECRET);
    const token = url.split('/').at(-1) ?? '';
    const claims = tokens.verify(token, 'preview');
    if (claims === null) throw new Error('The link is not signed with the secret.');
    return url.replace(token, tokens.sign({ ...claims, expiresAt: moment }));
  };

  it('is good for seven days, for the campaigns of one’s own', async () => {
    const days = (Date.parse(expiresAt) - Date.now()) / DAY_MS;
    expect(Math.abs(days - 7)).toBeLessThan(0.01);
    expect((await look()).status).toBe(200);
    const expired = await look('', until(new Date(Date.now() - DAY_MS)));
    expect([expired.status, expired.text.includes('Spring')]).toEqual([410, false]);
    const live = await project.client('LIVE');
    expectProblem(await live.post(`/campaigns/${key}/preview-link`), 404, 'not-found');
  });

  it('shows subject, preview text and mail to a reader who does not exist, and no subscriber', async () => {
    const page = await look();
    expect(page.text).toContain('Shown as for');
    expect(page.text).toContain('Hello Ada');
    expect(page.text).toContain('For Lovelace');
    const mail = await look('?part=mail');
    expect(mail.text).toContain('Hi Ada');
    expect(mail.text).toContain('@media (prefers-color-scheme: dark)');
    expect(page.text + mail.text).not.toMatch(/grace/i);
  });

  it('is for its eyes alone: no search engine, cache, script, foreign frame or other page learns of it', async () => {
    const page = await look();
    expect(Object.fromEntries(page.headers)).toMatchObject({
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
    const policy = page.headers.get('content-security-policy') ?? '';
    expect(policy).toMatch(/^default-src 'none'; /);
    expect(policy).toContain("frame-src 'self'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(policy).not.toMatch(/script-src|unsafe/);
    expect(page.text).not.toContain('<script');
    expect(page.text).not.toContain(url.split('/').at(-1));
    const mail = await look('?part=mail');
    const mailPolicy = mail.headers.get('content-security-policy') ?? '';
    expect(mailPolicy).toMatch(/^sandbox allow-popups allow-popups-to-escape-sandbox; default-src 'none'; /);
    expect(mailPolicy).toContain("frame-ancestors 'self'");
  });

  it('keeps each choice while another is made: width, colours, language of the mail and of the page', async () => {
    const page = await look('?lang=fr&locale=de&width=700&scheme=dark');
    expect(page.headers.get('content-language')).toBe('fr');
    expect(page.text).toContain('Hallo');
    expect(page.text).toMatch(/<iframe[^>]*class="mail dark"[^>]*width="700"/);
    const links = [...page.text.matchAll(/href="(\?[^"]*width=[^"]*)"/g)].map(([, query = '']) =>
      Object.fromEntries(new URLSearchParams(query.replaceAll('&amp;', '&'))),
    );
    const chosen = { lang: 'fr', locale: 'de', width: '700', scheme: 'dark' };
    const { locale: _own, ...own } = chosen;
    expect(links).toEqual([
      { ...chosen, width: '375' },
      chosen,
      { ...chosen, scheme: 'light' },
      chosen,
      own,
      chosen,
    ]);
    const mail = await look('?locale=de&part=mail');
    expect([mail.headers.get('content-language'), mail.text.includes('Neues für Ada')]).toEqual(['de', true]);
    expect((await look('?locale=xx&width=1&scheme=pink')).text).toMatch(/class="mail light"[^>]*width="375"/);
  });

  it('says why a campaign cannot be shown, and is gone with it', async () => {
    const draft = { name: 'Broken', subject: 'x', contentText: 'Hello {{ subscriber.first_name' };
    const broken = await client.post('/campaigns', draft);
    const path = `/campaigns/${broken.at('campaignKey')}`;
    const link: string = (await client.post(`${path}/preview-link`)).at('url');
    const page = await look('', link);
    expect([page.status, page.text.includes('<iframe')]).toEqual([200, false]);
    expect(page.text).toContain('This email cannot be shown as it is written.');
    expectProblem(await client.get(`${path}/preview`), 409, 'pre-send-rejected', {
      checks: [expect.objectContaining({ code: 'merge-tags', result: 'FAIL' })],
    });
    expect((await look('?part=mail', link)).status).toBe(404);
    expect((await client.delete(path)).status).toBe(204);
    expect((await look('', link)).status).toBe(404);
  });

  it('shows the draft of a template with sample data, in each of its languages', async () => {
    const text = (words: string) => JSON.stringify({ blocks: [{ type: 'text', html: `<p>${words}</p>` }] });
    const template = await client.post('/templates', {
      name: 'Receipt',
      kind: 'MESSAGE',
      purpose: 'The person bought something.',
      subject: 'Order {{ data.order.id }}',
      contentJson: text(
        '{{ data.order.total | money: "EUR" }} for {% for item in data.items %}{{ item.name }}{% endfor %}',
      ),
      translations: { de: { subject: 'Bestellung {{ data.order.id }}' } },
      variables: [
        { name: 'order.id', type: 'STRING', required: true },
        { name: 'order.total', type: 'NUMBER', required: true },
        { name: 'items', type: 'LIST', required: true },
      ],
    });
    const path = `/templates/${template.at('templateKey')}`;
    const answer = await client.post(`${path}/preview-link`);
    expect(Date.parse(answer.at('expiresAt')) - Date.now()).toBeGreaterThan(6.9 * DAY_MS);
    const link: string = answer.at('url');
    const page = await look('', link);
    expect(page.text).toContain('Receipt');
    expect(page.text).toContain('Order id');
    expect((await look('?part=mail', link)).text).toContain('€1.00 for name');
    expect((await look('?locale=de', link)).text).toContain('Bestellung id');
    const other = await look('?locale=x%0Ay&part=mail', link);
    expect([other.status, other.headers.get('content-language')]).toEqual([200, 'en']);

    const changed = { contentJson: text('{{ data.order.note }}') };
    expect((await client.patch(path, changed)).status).toBe(200);
    expect((await look('?part=mail', link)).text).toContain('note');
    expect((await client.patch(path, { contentJson: text('{{ data.order.note') })).status).toBe(200);
    const broken = await look('', link);
    expect([broken.status, broken.text.includes('<iframe')]).toEqual([200, false]);
    expect(broken.text).toContain('contentJson');

    const live = await project.client('LIVE');
    expectProblem(await live.post(`${path}/preview-link`), 404, 'not-found');
    expect((await client.delete(path)).status).toBe(204);
    expect((await look('', link)).status).toBe(404);
  });
});
