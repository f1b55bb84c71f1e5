import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import PostalMime from 'postal-mime';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const PAGE = `<!DOCTYPE html>
<html lang="en"><head><title>Spring</title><style>.offer { color: #aa0000 } @media (max-width: 480px) { .offer { font-size: 20px } }</style></head>
<body bgcolor="#eeeeee"><!--[if mso]><table><tr><td><![endif]--><p class="offer">Hello {{ subscriber.first_name | default: "you" }}</p><p hidden>Internal</p>
<a href="https://acme.example/offers">Offers</a><!--[if mso]></td></tr></table><![endif]--></body></html>`;
const MJML =
  '<mjml><mj-body><mj-section><mj-column><mj-text>Whole MJML</mj-text></mj-column></mj-section></mj-body></mjml>';

describe('whole pages of HTML and MJML', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicId: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicId = topic.at('id');
    for (const [email, locale] of [
      ['ada@example.com', null],
      ['ute@example.com', 'de'],
    ])
      await client.post('/subscribers', {
        email,
        locale,
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
  });
  afterAll(async () => {
    await system?.stop();
  });

  const draft = (fields: object) =>
    client.post('/campaigns', { name: 'Spring', subject: 'Spring', topicIds: [topicId], ...fields });
  async function mailTo(email: string, kind: string) {
    const id = await eventually(`a mail to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=${kind}&to=${encodeURIComponent(email)}`);
      return list.at<string | undefined>('data', 0, 'id') ?? null;
    });
    return PostalMime.parse((await client.get(`/test-inbox/messages/${id}/raw`)).text);
  }

  it('are mails of a campaign, in their languages, with footer and tracked links, and in the browser', async () => {
    const german = PAGE.replace('Hello', 'Hallo');
    const created = await draft({ html: PAGE, translations: { de: { subject: 'Frühling', html: german } } });
    expect(created.status).toBe(201);
    expect(JSON.parse(created.at('contentJson'))).toEqual({ html: PAGE });
    expect(JSON.parse(created.at('translations', 'de', 'contentJson'))).toEqual({ html: german });
    const preview = await client.get(`/campaigns/${created.at('campaignKey')}/preview`);
    expect(preview.at('html')).toContain('<title>Spring</title>');
    expect((await client.post(`/campaigns/${created.at('campaignKey')}/send`)).status).toBe(200);
    const mail = await mailTo('ada@example.com', 'CAMPAIGN');
    expect(mail.html).toContain('<p class="offer" style="color: #aa0000;">Hello you</p>');
    expect(mail.html).toContain('<!--[if mso]><table><tr><td><![endif]-->');
    expect(mail.html).toMatch(/<a href="[^"]*\/l\/[^"]+">Offers<\/a>/);
    expect(mail.html).toMatch(/class="mw-footer".*\/u\/.*<\/div><img[^>]+><\/body>/s);
    expect(mail.html).toMatch(/<p hidden(?:="")?>Internal/);
    expect(mail.text).toContain('Hello you');
    expect(mail.text).not.toContain('Internal');
    expect((await mailTo('ute@example.com', 'CAMPAIGN')).html).toContain('Hallo you');
    const view = /href="([^"]*\/v\/[^"]*)"/.exec(mail.html ?? '')?.[1]?.replaceAll('&amp;', '&') ?? '';
    const shown = await fetch(new URL(new URL(view).pathname, client.baseUrl));
    expect(shown.status).toBe(200);
    expect(await shown.text()).toContain('Hello you');
  });

  it('are refused with what they would lose where they are meant strictly, and nothing is saved', async () => {
    const bad = PAGE.replace('</body>', '<form><input name="q"></form><script>alert(1)</script></body>');
    const losing = {
      html: bad,
      translations: { de: { subject: 'Frühling', html: bad }, fr: { subject: 'Printemps' } },
    };
    const before = (await client.get('/campaigns')).at('pagination', 'totalElements');
    const refused = await draft({ ...losing, strict: true });
    expect(refused.status).toBe(422);
    expect(refused.at('errors')).toEqual({
      html: expect.stringMatching(/^has what no mail can carry: .*form.*/),
      'translations.de.html': expect.stringContaining('<script>'),
    });
    expect((await client.get('/campaigns')).at('pagination', 'totalElements')).toBe(before);
    const kept = await draft({ html: PAGE, strict: true });
    expect([kept.status, kept.at('strict')]).toEqual([201, undefined]);
    const path = `/campaigns/${kept.at('campaignKey')}`;
    const mjml = MJML.replace('<mj-text>', '<mj-text><script>x()</script>');
    expect((await client.patch(path, { mjml, strict: true })).at('errors')).toEqual({
      mjml: expect.stringContaining('<script>'),
    });
    expect(JSON.parse((await client.get(path)).at('contentJson'))).toEqual({ html: PAGE });
    expect((await client.patch(path, { mjml, strict: false })).status).toBe(200);
    expect((await draft(losing)).status).toBe(201);
  });

  it('show files of a message', async () => {
    const content = Buffer.from('89504e470d0a1a0a0000000d49484452', 'hex').toString('base64');
    const sent = await client.post('/messages', {
      to: 'file@example.com',
      purpose: 'A receipt.',
      subject: 'Receipt',
      html: PAGE.replace('Hello', '<img src="cid:logo" alt="Logo">'),
      attachments: [{ filename: 'logo.png', contentType: 'image/png', content, contentId: 'logo' }],
    });
    expect(sent.status).toBe(202);
    const { html, attachments } = await mailTo('file@example.com', 'MESSAGE');
    expect(html).toContain('src="cid:logo"');
    expect(attachments).toMatchObject([{ filename: 'logo.png', related: true }]);
  });

  it('are changed like any content, and cleared by null', async () => {
    const campaignKey: string = (await draft({ mjml: MJML })).at('campaignKey');
    const patch = async (fields: object) =>
      (await client.patch(`/campaigns/${campaignKey}`, fields)).at('contentJson');
    expect(JSON.parse((await client.get(`/campaigns/${campaignKey}`)).at('contentJson'))).toEqual({
      mjml: MJML,
    });
    expect(JSON.parse(await patch({ html: PAGE }))).toEqual({ html: PAGE });
    expect(await patch({ subject: 'Other' })).toBe(JSON.stringify({ html: PAGE }));
    expect(await patch({ contentJson: '{"blocks":[]}', html: null })).toBe('{"blocks":[]}');
    expect(await patch({ html: null })).toBeNull();
  });

  it('are mails of a message', async () => {
    const message = { purpose: 'A receipt.', subject: 'Receipt', data: { total: '9 €' } };
    for (const [email, content] of [
      ['html@example.com', { html: PAGE.replace('Offers', '{{ data.total }}') }],
      ['mjml@example.com', { mjml: MJML.replace('Whole MJML', '{{ data.total }}') }],
    ] as const) {
      expect((await client.post('/messages', { ...message, ...content, to: email })).status).toBe(202);
      const { html } = await mailTo(email, 'MESSAGE');
      expect(html).toContain('9 €');
      expect(html).not.toContain('mw-footer');
    }
  });

  it('of MJML hold conditions around components, and name what stands between them', async () => {
    const guarded = MJML.replace(
      '</mj-body>',
      '{% if data.vip %}<mj-section><mj-column><mj-text>VIP price</mj-text></mj-column></mj-section>{% endif %}</mj-body>',
    );
    const message = { purpose: 'An offer.', subject: 'Offer' };
    for (const vip of [true, false]) {
      const to = `vip-${vip}@example.com`;
      const sent = await client.post('/messages', { ...message, to, mjml: guarded, data: { vip } });
      expect(sent.status).toBe(202);
      const { html, text } = await mailTo(to, 'MESSAGE');
      for (const part of [html, text]) {
        expect(part).toContain('Whole MJML');
        expect(part?.includes('VIP price')).toBe(vip);
      }
    }
    const lost = MJML.replace('</mj-section>', '</mj-section>Bare {{ subscriber.first_name }}');
    const named = expect.stringContaining('mjml: text between components: Bare {{ subscriber.first_name }}');
    const refused = await client.post('/messages', { ...message, to: 'ada@example.com', mjml: lost });
    expect([refused.status, refused.at('errors')]).toEqual([422, { mjml: named }]);
    const strict = await draft({ mjml: lost, strict: true });
    expect([strict.status, strict.at('errors')]).toEqual([422, { mjml: named }]);
  });

  it('are refused with what is wrong, by the field', async () => {
    const message = { to: 'ada@example.com', purpose: 'A receipt.', subject: 'Receipt' };
    const faults = async (answer: Promise<{ status: number; at(...path: string[]): unknown }>) => {
      const found = await answer;
      return [found.status, found.at('errors')];
    };
    expect(await faults(draft({ html: PAGE, mjml: MJML }))).toEqual([
      400,
      { mjml: 'must not be given together with html' },
    ]);
    expect(await faults(draft({ mjml: '<mjml></mjml>' }))).toEqual([
      422,
      { mjml: 'must hold <mjml> with an <mj-body>' },
    ]);
    expect(
      await faults(client.post('/messages', { ...message, html: '<script>x</script><p>x</p>' })),
    ).toEqual([422, { html: 'has what no mail can carry: html: <script>' }]);
    expect(await faults(client.post('/messages', { ...message, html: '<p>{{ data.total }}</p>' }))).toEqual([
      422,
      { 'data.total': 'is missing: the content shows it' },
    ]);
    expect(
      await faults(client.post('/messages', { ...message, html: '<img src="cid:logo" alt="">' })),
    ).toEqual([422, { html: 'shows cid:logo, which is the contentId of no attachment' }]);
    const { status } = await draft({ html: 'x'.repeat(512 * 1024 + 1) });
    expect(status).toBe(400);
  });
});
