import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const consent = { source: 'signup-form' };
const LOCALE = 'must be a BCP 47 language tag, such as de or pt-BR';
const TIME_ZONE = 'must be an IANA time zone, such as Europe/Berlin';

describe('a reader’s language and time zone', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topic: { readonly id: string; readonly topicKey: string };
  let people = 0;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const created = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topic = created.body as typeof topic;
  });
  afterAll(() => system?.stop());

  const nobody = () => `reader-${(people += 1)}@example.com`;
  const create = (email: string, fields: object, headers: Record<string, string> = {}) =>
    client.post('/subscribers', { email, topicKeys: [topic.topicKey], consent, ...fields }, { headers });
  async function person(fields: object, headers?: Record<string, string>): Promise<string> {
    const email = nobody();
    expect((await create(email, fields, headers)).status).toBe(201);
    return email;
  }
  const of = async (email: string) => (await client.get(`/subscribers/${encodeURIComponent(email)}`)).body;
  const change = (email: string, patch: object) =>
    client.patch(`/subscribers/${encodeURIComponent(email)}`, patch);

  it('are kept as a locale in its usual spelling and a zone as it was given', async () => {
    const email = nobody();
    const created = await create(email, { locale: 'DE-at', timeZone: 'Europe/Vienna' });
    expect(created.body).toMatchObject({ locale: 'de-AT', timeZone: 'Europe/Vienna' });
    expect(await of(email)).toEqual(created.body);
    expect((await client.get('/subscribers?size=1')).at('data', 0)).toEqual(created.body);
  });

  it('are null where nobody says them', async () => {
    expect(await of(await person({}))).toMatchObject({ locale: null, timeZone: null });
    const cleared = await person({ locale: null, timeZone: null });
    expect(await of(cleared)).toMatchObject({ locale: null, timeZone: null });
  });

  it('change as a merge-patch says, and null clears them', async () => {
    const email = await person({ locale: 'de', timeZone: 'Europe/Berlin', firstName: 'Ada' });
    const moved = { locale: 'pt-BR', timeZone: 'America/Sao_Paulo' };
    expect((await change(email, { ...moved, locale: 'PT-br' })).body).toMatchObject(moved);
    expect((await change(email, { firstName: 'Eva' })).body).toMatchObject(moved);
    expect((await change(email, { locale: null })).body).toMatchObject({ ...moved, locale: null });
    expect((await change(email, { timeZone: null })).body).toMatchObject({ locale: null, timeZone: null });
  });

  it.each([
    [
      { locale: 'german', timeZone: 'Berlin' },
      { locale: LOCALE, timeZone: TIME_ZONE },
    ],
    [{ locale: 'de_DE' }, { locale: LOCALE }],
    [{ locale: '' }, { locale: LOCALE }],
    [{ locale: 'qq' }, { locale: LOCALE }],
    [{ timeZone: '+02:00' }, { timeZone: TIME_ZONE }],
    [{ timeZone: '' }, { timeZone: TIME_ZONE }],
    [{ locale: 7 }, { locale: 'must be a string' }],
  ])('are refused as %j, by name', async (fields, errors) => {
    const email = nobody();
    expectProblem(await create(email, fields), 400, 'validation-error', { errors });
    const reader = await person({ locale: 'fr' });
    expectProblem(await change(reader, fields), 400, 'validation-error', { errors });
    expect(await of(reader)).toMatchObject({ locale: 'fr', timeZone: null });
    expect((await client.get(`/subscribers/${encodeURIComponent(email)}`)).status).toBe(404);
  });

  it.each([
    ['de-AT,de;q=0.9,en;q=0.8', 'de-AT'],
    ['en;q=0.2, fr;q=0.9', 'fr'],
    ['*, ja;q=0.3', 'ja'],
    ['qq, de_DE, zh-hant-tw;q=0.1', 'zh-Hant-TW'],
    ['de;q=0', null],
    ['*', null],
    ['; q=,,"', null],
  ])('is the one that Accept-Language asks for: %s is %s', async (header, locale) => {
    expect(await of(await person({}, { 'accept-language': header }))).toMatchObject({ locale });
    expect(await of(await person({ locale: null }, { 'accept-language': header }))).toMatchObject({ locale });
  });

  it('is not taken from Accept-Language when it is given, or the subscriber is known', async () => {
    const header = { 'accept-language': 'de' };
    const email = await person({ locale: 'uk' }, header);
    expect(await of(email)).toMatchObject({ locale: 'uk' });
    const known = await person({});
    expect((await create(known, {}, header)).status).toBe(409);
    const patched = await client.request('PATCH', `/subscribers/${encodeURIComponent(known)}`, {
      body: { firstName: 'Ada' },
      headers: header,
    });
    expect(patched.at('locale')).toBeNull();
  });

  const ended = (id: string): Promise<ApiAnswer> =>
    eventually('the import ends', async () => {
      const found = await client.get(`/subscriber-imports/${id}`);
      return found.at('status') === 'COMPLETED' ? found : null;
    });

  it('come with an import, for new and known subscribers; a wrong one fails its row', async () => {
    const known = await person({ locale: 'en', timeZone: 'UTC' });
    const [ada, eve, bad] = [nobody(), nobody(), nobody()];
    const rows = [
      'email,Sprache,time_zone',
      `${ada},PT-br, America/Sao_Paulo `,
      `${known},de,`,
      `${eve},,`,
      `${bad},german,Berlin`,
    ];
    const mapping = encodeURIComponent(JSON.stringify({ Sprache: 'locale' }));
    const accepted = await client.post(
      `/subscriber-imports?topicKeys=${topic.topicKey}&consent.source=shop&mapping=${mapping}`,
      rows.join('\n'),
      { headers: { 'content-type': 'text/csv' } },
    );
    const id = accepted.at('id');
    expect((await ended(id)).at('counts')).toMatchObject({ created: 2, updated: 1, failed: 1 });
    expect(await of(ada)).toMatchObject({ locale: 'pt-BR', timeZone: 'America/Sao_Paulo' });
    expect(await of(known)).toMatchObject({ locale: 'de', timeZone: 'UTC' });
    expect(await of(eve)).toMatchObject({ locale: null, timeZone: null });
    expect((await client.get(`/subscriber-imports/${id}/errors`)).at('data')).toEqual([
      { row: 4, line: 5, email: bad, errors: { locale: LOCALE, timeZone: TIME_ZONE } },
    ]);
  });

  it('come with an import of JSON, where null clears them', async () => {
    const known = await person({ locale: 'en', timeZone: 'UTC' });
    const ada = nobody();
    const accepted = await client.post('/subscriber-imports', {
      rows: [
        { email: ada, locale: 'sr-latn', timeZone: 'Europe/Belgrade' },
        { email: known, locale: null, time_zone: null },
      ],
      topicKeys: [topic.topicKey],
      consent,
    });
    await ended(accepted.at('id'));
    expect(await of(ada)).toMatchObject({ locale: 'sr-Latn', timeZone: 'Europe/Belgrade' });
    expect(await of(known)).toMatchObject({ locale: null, timeZone: null });
  });

  it('choose the members of segments', async () => {
    const others = await project.client('LIVE');
    const { topicKey } = (await others.post('/topics', { name: 'News' })).body as typeof topic;
    const readers = [
      { email: 'de@example.com', locale: 'de', timeZone: 'Europe/Berlin' },
      { email: 'at@example.com', locale: 'de-AT', timeZone: 'Europe/Vienna' },
      { email: 'br@example.com', locale: 'pt-BR', timeZone: 'America/Sao_Paulo' },
      { email: 'unknown@example.com' },
    ];
    for (const reader of readers)
      expect((await others.post('/subscribers', { ...reader, topicKeys: [topicKey], consent })).status).toBe(
        201,
      );
    const who = async (field: string, op: string, value?: unknown) => {
      const rules = JSON.stringify({ version: 1, where: { field, op, value } });
      const found = await others.post('/segments/preview', { rules });
      return found.at<{ email: string }[]>('sample').map(({ email }) => email.split('@')[0]);
    };
    for (const field of ['subscriber.locale', 'locale']) {
      expect(await who(field, 'eq', 'de')).toEqual(['de']);
      expect(await who(field, 'neq', 'de')).toEqual(['unknown', 'br', 'at']);
      expect(await who(field, 'in', ['PT-br', 'de'])).toEqual(['br', 'de']);
      expect(await who(field, 'startsWith', 'de')).toEqual(['at', 'de']);
      expect(await who(field, 'exists')).toEqual(['br', 'at', 'de']);
    }
    for (const field of ['subscriber.time_zone', 'timeZone']) {
      expect(await who(field, 'eq', 'Europe/Vienna')).toEqual(['at']);
      expect(await who(field, 'startsWith', 'Europe/')).toEqual(['at', 'de']);
      expect(await who(field, 'notExists')).toEqual(['unknown']);
    }
  });

  it('are merge tags', async () => {
    const email = await person({ locale: 'de-AT', timeZone: 'Europe/Vienna' });
    const campaign = await client.post('/campaigns', {
      name: 'News',
      subject: '{{ subscriber.locale }} in {{ subscriber.time_zone }}',
      contentText: '{{ subscriber.locale | default: "any" }}',
      topicIds: [topic.id],
    });
    const path = `/campaigns/${campaign.at('campaignKey')}`;
    const preview = await client.get(`${path}/preview?email=${encodeURIComponent(email)}`);
    expect(preview.body).toMatchObject({ subject: 'de-AT in Europe/Vienna' });
    const analysis = await client.get(`${path}/pre-send-analysis`);
    expect(analysis.at('checks')).toContainEqual(
      expect.objectContaining({ code: 'merge-tags', result: 'PASS' }),
    );
  });

  it('are among the data that a person is given', async () => {
    const email = await person({ locale: 'de-AT', timeZone: 'Europe/Vienna' });
    const which = ['--project', project.name, '--env', 'test', '--email', email];
    const data = await runCliForJson(system.variables, ['subscriber:export', ...which]);
    expect(data['subscriber']).toMatchObject({ locale: 'de-AT', timeZone: 'Europe/Vienna' });
  });
});

describe('a topic in several languages', () => {
  let system: SharedSystem;
  let client: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    client = await (await system.project()).client('TEST');
  });
  afterAll(() => system?.stop());

  const german = { name: 'Neuigkeiten', description: 'Einmal im Monat' };

  it('has its name and description by locale, in its usual spelling', async () => {
    const made = await client.post('/topics', {
      name: 'News',
      translations: { de: german, 'PT-br': { name: 'Novidades' } },
    });
    const translations = { de: german, 'pt-BR': { name: 'Novidades', description: null } };
    expect([made.status, made.at('translations')]).toEqual([201, translations]);
    const path = `/topics/${made.at('topicKey')}`;
    expect((await client.get(path)).at('translations')).toEqual(translations);
    expect((await client.get('/topics')).at('data', 0, 'translations')).toEqual(translations);
    expect((await client.patch(path, { name: 'All the news' })).at('translations')).toEqual(translations);
    const french = { fr: { name: 'Actualités', description: null } };
    expect((await client.patch(path, { translations: french })).at('translations')).toEqual(french);
    expect((await client.get(path)).at('translations')).toEqual(french);
    expect((await client.patch(path, { translations: null })).at('translations')).toEqual({});
  });

  it('has none unless they are given', async () => {
    expect((await client.post('/topics', { name: 'News' })).at('translations')).toEqual({});
    expect((await client.post('/topics', { name: 'News', translations: null })).at('translations')).toEqual(
      {},
    );
  });

  it('is refused with translations that are wrong, each by name', async () => {
    const { topicKey } = (await client.post('/topics', { name: 'News', translations: { de: german } }))
      .body as { topicKey: string };
    const refused = async (translations: unknown, errors: object) => {
      expectProblem(await client.post('/topics', { name: 'News', translations }), 400, 'validation-error', {
        errors,
      });
      const patched = await client.patch(`/topics/${topicKey}`, { translations });
      expectProblem(patched, 400, 'validation-error', { errors });
    };
    await refused({ german }, { 'translations.german': LOCALE });
    await refused({ de: { name: '' } }, { 'translations.de.name': 'must not be empty' });
    await refused(
      { de: { name: 'x'.repeat(201), description: 'x'.repeat(1_001), icon: 'x' }, fr: {} },
      {
        'translations.de.name': 'must be at most 200 characters',
        'translations.de.description': 'must be at most 1000 characters',
        'translations.de.icon': 'is not a known field',
        'translations.fr.name': 'is required',
      },
    );
    await refused({ 'de-at': german, 'de-AT': german }, { 'translations.de-AT': 'is de-AT again' });
    const many = Array.from({ length: 51 }, (_, index) => [`de-u-x0-v${100 + index}`, german]);
    await refused(Object.fromEntries(many), { translations: 'must have at most 50 languages' });
    await refused([], { translations: expect.any(String) });
    expect((await client.get(`/topics/${topicKey}`)).at('translations')).toEqual({ de: german });
  });
});
