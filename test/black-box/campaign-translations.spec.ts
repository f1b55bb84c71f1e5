import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const content = (html: string, url: string) =>
  JSON.stringify({
    blocks: [
      { type: 'text', html: `<p>${html}</p>` },
      { type: 'button', label: html, url },
    ],
  });
const nothing = { previewText: null, contentJson: null, contentText: null };
const TRANSLATIONS = {
  de: {
    subject: 'Neues für {{ subscriber.first_name }}',
    contentJson: content('Guten Tag', 'https://acme.example/de'),
  },
  ja: {
    subject: 'お知らせ',
    previewText: '新着',
    contentJson: content('こんにちは', 'https://acme.example/ja'),
  },
  'pt-br': { subject: 'Novidades' },
};
/** Readers by address: their language, then subject, words and language of their mail. */
const READERS = {
  'clicked+a@example.com': ['de-AT', 'Neues für Ada', 'Guten Tag', 'de'],
  'clicked+b@example.com': ['ja', 'お知らせ', 'こんにちは', 'ja'],
  'delivered+c@example.com': ['pt-BR', 'Novidades', 'Good day', 'pt-BR'],
  'opened+d@example.com': ['fi', 'News', 'Good day', 'en'],
  'clicked+e@example.com': [null, 'News', 'Good day', 'en'],
} as const;

/** The Finnish one is in the project's own words. */
const FOOTERS = {
  'de-AT': ['E-Mails abbestellen', 'Im Browser ansehen'],
  ja: ['配信停止', 'ブラウザーで表示'],
  'pt-BR': ['Cancelar inscrição', 'Ver no navegador'],
  fi: ['Peruuta tilaus', 'Avaa selaimessa'],
  en: ['Unsubscribe', 'View in browser'],
} as const;

describe('a campaign in several languages', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let draft: object;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const consent = { source: 'signup form' };
    for (const [email, [locale]] of Object.entries(READERS)) {
      const person = { email, firstName: 'Ada', locale, topicKeys: [topic.at('topicKey')], consent };
      expect((await client.post('/subscribers', person)).status).toBe(201);
    }
    await system.database.query(
      `insert into access.project_texts (project_id, locale, version, texts, created_at)
       values ($1, 'fi', 1, '{"footer.unsubscribe": "Peruuta tilaus", "footer.view": "Avaa selaimessa"}', now())`,
      [project.test.projectId],
    );
    draft = {
      name: 'May',
      subject: 'News',
      topicIds: [topic.at('id')],
      translations: TRANSLATIONS,
      contentJson: content('Good day', 'https://acme.example/en'),
    };
  });
  afterAll(async () => {
    await system?.stop();
  });

  const make = async (changes: object = {}): Promise<string> =>
    (await client.post('/campaigns', { ...draft, ...changes })).at('campaignKey');

  async function mailsOf(kind: string) {
    const { data } = (await client.get(`/test-inbox/messages?kind=${kind}&size=100`)).body as {
      data: { id: string; to: string }[];
    };
    return new Map(
      await Promise.all(
        data.map(async ({ id, to }) => [to, (await client.get(`/test-inbox/messages/${id}`)).body] as const),
      ),
    ) as Map<string, { subject: string; html: string; headers: unknown; links: { view: string } }>;
  }

  it('is shown with them, each under its locale as it is usually written', async () => {
    const key = await make();
    const expected = {
      de: { ...nothing, ...TRANSLATIONS.de },
      ja: { ...nothing, ...TRANSLATIONS.ja },
      'pt-BR': { ...nothing, subject: 'Novidades' },
    };
    expect((await client.get(`/campaigns/${key}`)).at('translations')).toEqual(expected);
    expect((await client.get('/campaigns')).at('data', 0, 'translations')).toEqual(expected);
    const changed = await client.patch(`/campaigns/${key}`, {
      translations: { fr: { subject: 'Nouvelles' } },
    });
    expect(changed.at('translations')).toEqual({ fr: { ...nothing, subject: 'Nouvelles' } });
    const untouched = await client.patch(`/campaigns/${key}`, { name: 'June' });
    expect(untouched.at('translations')).toEqual(changed.at('translations'));
    const cleared = await client.patch(`/campaigns/${key}`, { translations: null });
    expect(cleared.at('translations')).toEqual({});
  });

  it.each<[object, 400 | 422, Record<string, unknown>]>([
    [{ de: { subject: ' ' } }, 400, { 'translations.de.subject': 'must not be empty' }],
    [{ de: {} }, 400, { 'translations.de.subject': 'is required' }],
    [{ de: { subject: 'a', body: 'b' } }, 400, { 'translations.de.body': 'is not a known field' }],
    [
      { german: { subject: 'a' } },
      400,
      { 'translations.german': 'must be a BCP 47 language tag, such as de or pt-BR' },
    ],
    [
      { 'de-at': { subject: 'a' }, 'de-AT': { subject: 'b' } },
      400,
      { 'translations.de-AT': 'is de-AT again' },
    ],
    [
      Object.fromEntries(Array.from({ length: 51 }, (_, at) => [`de-x-a${at}`, { subject: 'a' }])),
      400,
      { translations: 'must have at most 50 languages' },
    ],
    [
      { de: { subject: 'a', contentJson: '{"blocks":[{"type":"heading","level":1}]}' } },
      422,
      { 'translations.de.contentJson.blocks[0].text': 'is required' },
    ],
  ])('is refused with %j', async (translations, status, errors) => {
    const slug = status === 400 ? 'validation-error' : 'domain-validation';
    const answer = await client.post('/campaigns', { ...draft, translations });
    expect(expectProblem(answer, status, slug, { errors: expect.any(Object) })['errors']).toEqual(errors);
  });

  it('is not sent for a fault in one of them, which is named', async () => {
    const broken = { ...TRANSLATIONS, ja: { subject: 'お知らせ {{ subscriber.nmae }}' } };
    const key = await make({ translations: broken });
    const analysis = await client.get(`/campaigns/${key}/pre-send-analysis`);
    expect(analysis.at('status')).toBe('FAILED');
    const check = {
      code: 'merge-tags',
      severity: 'CRITICAL',
      result: 'FAIL',
      message: 'ja: Merge tags: {{ subscriber.nmae }} is not known.',
    };
    expect(analysis.at('checks')).toContainEqual(check);
    expectProblem(await client.post(`/campaigns/${key}/send`), 409, 'pre-send-rejected', {
      checks: expect.arrayContaining([check]),
    });
    expect(
      (await client.patch(`/campaigns/${key}`, { translations: TRANSLATIONS })).at('preSendStatus'),
    ).toBeNull();
    const mended = await client.get(`/campaigns/${key}/pre-send-analysis`);
    expect(mended.at('status')).toBe('WARNING');
  });

  it('is previewed and tried out in the language that is asked for, else in the reader’s', async () => {
    const key = await make();
    const subject = async (query: string) =>
      (await client.get(`/campaigns/${key}/preview${query}`)).at('subject');
    expect(await subject('')).toBe('News');
    expect(await subject('?locale=de-CH')).toBe('Neues für Ada');
    expect(await subject('?email=clicked%2Bb@example.com')).toBe('お知らせ');
    expect(await subject('?email=clicked%2Bb@example.com&locale=de')).toBe('Neues für Ada');
    expect((await client.get(`/campaigns/${key}/preview?locale=german`)).at('errors')).toEqual({
      locale: 'must be a BCP 47 language tag, such as de or pt-BR',
    });
    const test = { emails: ['author@example.com'], locale: 'ja' };
    expect((await client.post(`/campaigns/${key}/test`, test)).status).toBe(202);
    const mail = await eventually('the test mail is there', async () =>
      (await mailsOf('TEST')).get('author@example.com'),
    );
    expect(mail.subject).toBe('お知らせ');
  });

  it('reaches each reader in their language, as do its page on the web and its report', async () => {
    const key = await make();
    expect((await client.post(`/campaigns/${key}/send`)).status).toBe(200);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    const mails = await mailsOf('CAMPAIGN');
    for (const [email, [locale, subject, words, language]] of Object.entries(READERS)) {
      const mail = mails.get(email)!;
      expect([email, mail.subject]).toEqual([email, subject]);
      expect(mail.html).toContain(words);
      expect(mail.html).toContain(`lang="${language}"`);
      expect(JSON.stringify(mail.headers)).toMatch(new RegExp(`content-language[^}]*${language}`, 'i'));
      const [leave, view] = FOOTERS[locale ?? 'en'];
      expect(mail.html).toContain(`>${leave}</a>`);
      expect(mail.html).toContain(`<a href="${mail.links.view}"`);
      expect(mail.html).toContain(`>${view}</a>`);
      const page = await fetch(mail.links.view);
      expect(await page.text()).toContain(words);
    }
    const { data } = (await client.get(`/campaigns/${key}/deliveries`)).body as {
      data: { email: string; locale: string | null }[];
    };
    expect(new Map(data.map(({ email, locale }) => [email, locale]))).toEqual(
      new Map(Object.entries(READERS).map(([email, [locale]]) => [email, locale])),
    );
    await eventually('three have followed a link, and one has looked', async () => {
      const answer = await client.get(`/campaigns/${key}/report/statistics`);
      return answer.at<number>('uniqueOpens') === 4 && answer.at<number>('uniqueClicks') === 3;
    });
    const one = { sent: 1, delivered: 1, bounced: 0, opened: 1, clicked: 1 };
    expect((await client.get(`/campaigns/${key}/report/languages`)).at('languages')).toEqual([
      { ...one, locale: null, sent: 2, delivered: 2, opened: 2 },
      { ...one, locale: 'de' },
      { ...one, locale: 'ja' },
      { ...one, locale: 'pt-BR', opened: 0, clicked: 0 },
    ]);
    const events = await system.database.query<{ url: string | null }>(
      `select e.url from messaging.delivery_events e
       join messaging.campaigns c on c.id = e.campaign_id and c.environment_id = e.environment_id
       where c.campaign_key = $1 and c.environment_id = $2 and e.type = 'CLICKED' order by e.url`,
      [key, project.test.environmentId],
    );
    expect(events.map(({ url }) => url)).toEqual([
      'https://acme.example/de',
      'https://acme.example/ja',
      null,
    ]);
    const links = (await client.get(`/campaigns/${key}/report/links`)).body as Record<string, unknown>[];
    expect(
      links
        .filter(({ clicks }) => clicks === 1)
        .map(({ url, locale, uniqueClicks }) => [url, locale, uniqueClicks]),
    ).toEqual([
      [expect.any(String), null, 1],
      ['https://acme.example/de', 'de', 1],
      ['https://acme.example/ja', 'ja', 1],
    ]);
    const csv = await client.get(`/campaigns/${key}/report/export?rows=deliveries`);
    expect(csv.text.split('\r\n').map((row) => row.split(',').at(-1))).toEqual(
      expect.arrayContaining(['locale', 'de-AT', 'ja', 'pt-BR', 'fi']),
    );
  });
});
