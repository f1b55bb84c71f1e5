import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { expectProblem } from '#testing/http/problems';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

const SETTINGS = {
  name: 'Acme Neuigkeiten',
  description: 'Was es Neues gibt',
  senderName: 'Acme GmbH',
  fromEmail: 'news@acme.example',
  replyTo: 'team@acme.example',
  privacyUrl: 'https://acme.example/privacy',
  contactEmail: 'data@acme.example',
  postalAddress: 'Hauptstraße 1\n10115 Berlin',
  defaultLocale: 'de',
  timeZone: 'Europe/Berlin',
};

describe('the settings of a project over HTTP', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
  });
  afterAll(() => system?.stop());

  const fresh = async () => {
    project = await system.project();
    client = await project.client('LIVE');
  };

  it('are changed in what is named and seen by live and test keys', async () => {
    await fresh();
    const other = await (await system.project()).client('LIVE');
    const [before, others] = [await client.get('/project'), await other.get('/project')];
    const changed = await client.patch('/project', { ...SETTINGS, brand: { color: '#1A73E8' } });
    expect(changed.status).toBe(200);
    const shared = before.body as object;
    const brand = { logoUrl: null, color: '#1a73e8' };
    expect(changed.body).toEqual({
      ...shared,
      ...SETTINGS,
      brand,
      updatedAt: expect.any(String),
    });
    expect((await client.get('/project')).body).toEqual(changed.body);
    const test = await project.client('TEST');
    expect((await test.get('/project')).body).toEqual({ ...(changed.body as object), environment: 'TEST' });
    expect((await other.get('/project')).body).toEqual(others.body);

    const renamed = await test.patch('/project', { name: 'Acme' });
    expect(renamed.body).toMatchObject({ ...SETTINGS, name: 'Acme', brand, environment: 'TEST' });
  });

  it('are cleared by null where they may be left out, and stay where not', async () => {
    await fresh();
    await client.patch('/project', { ...SETTINGS, brand: { color: '#1a73e8' } });
    const nothing = Object.fromEntries(Object.keys(SETTINGS).map((name) => [name, null]));
    const cleared = await client.patch('/project', { ...nothing, brand: { logoUrl: null } });
    expect(cleared.body).toMatchObject({
      ...SETTINGS,
      description: null,
      fromEmail: null,
      replyTo: null,
      privacyUrl: null,
      contactEmail: null,
      brand: { logoUrl: null, color: '#1a73e8' },
    });
    expect((await client.patch('/project', { brand: null })).at('brand', 'color')).toBeNull();
    expect((await client.patch('/project', {})).status).toBe(200);
  });

  it('are refused by name, all at once, and nothing is half-written', async () => {
    await fresh();
    const before = await client.get('/project');
    const malformed = await client.patch('/project', {
      name: ' ',
      senderName: 'Acme\r\nBcc: everyone@example.com',
      fromEmail: 'acme',
      replyTo: 7,
      privacyUrl: 'http://acme.example/privacy',
      contactEmail: 'acme',
      postalAddress: '',
      defaultLocale: 'german',
      timeZone: 'Europe/Atlantis',
      brand: { logoUrl: 'http://acme.example/logo.png', color: 'blue', font: 'Comic Sans' },
      projectKey: 'MINE',
    });
    expectProblem(malformed, 400, 'validation-error', {
      errors: {
        name: 'must not be empty',
        senderName: 'must not contain control characters',
        fromEmail: 'is not an e-mail address',
        replyTo: 'must be a string',
        privacyUrl: 'must be an https URL',
        contactEmail: 'is not an e-mail address',
        postalAddress: 'must not be empty',
        defaultLocale: 'must be a BCP 47 language tag, such as de or pt-BR',
        timeZone: 'must be an IANA time zone, such as Europe/Berlin',
        'brand.logoUrl': 'must be an https URL',
        'brand.color': 'must be a colour such as #1a73e8',
        'brand.font': 'is not a known field',
        projectKey: 'is not a known field',
      },
    });
    const unfit = await client.patch('/project', {
      name: 'Never written',
      brand: { logoUrl: 'https://127.0.0.1:1/logo.png', color: '#ffee00' },
    });
    expectProblem(unfit, 422, 'domain-validation', {
      errors: {
        'brand.logoUrl': 'must be an image that anyone can load. The connection failed: ECONNREFUSED.',
        'brand.color': 'must be darker: its contrast with white is 1.2, must be at least 3',
      },
    });
    const unshipped = await client.patch('/project', { defaultLocale: 'sw' });
    expect(unshipped.at('errors', 'defaultLocale')).toMatch(/^must be one of the languages en, de, /);
    expect((await client.get('/project')).body).toEqual(before.body);
  });

  it('have texts of their own by language, which null gives back', async () => {
    await fresh();
    const path = '/project/texts/en';
    const ours = await client.get(path);
    expect(ours.body).toMatchObject({
      locale: 'en',
      version: 0,
      overrides: {},
      createdAt: null,
      updatedAt: null,
    });
    expect(ours.at('texts')).toEqual(ours.at('defaults'));

    const own = { 'optIn.subject': 'One more click for {project}' };
    const set = await client.request('PUT', path, { body: { texts: own } });
    expect(set.status).toBe(200);
    expect(set.body).toMatchObject({ version: 1, overrides: own, createdAt: set.at('updatedAt') });
    expect(set.at('texts')).toEqual({ ...ours.at<object>('defaults'), ...own });
    expect((await (await project.client('TEST')).get(path)).body).toEqual(set.body);
    const again = await client.request('PUT', path, { body: { texts: set.at('texts') } });
    expect(again.body).toEqual(set.body);

    const back = await client.request('PUT', path, { body: { texts: { 'optIn.subject': null } } });
    expect(back.body).toMatchObject({ version: 2, overrides: {} });
    expect(back.at('texts')).toEqual(ours.at('texts'));
    const stranger = await (await system.project()).client('LIVE');
    expect((await stranger.get(path)).body).toEqual(ours.body);
  });

  it('have texts in Portuguese by the name that both forms had once', async () => {
    await fresh();
    const own = { 'optIn.subject': 'Mais um clique para {project}' };
    const set = await client.request('PUT', '/project/texts/pt', { body: { texts: own } });
    expect(set.body).toMatchObject({ locale: 'pt-BR', version: 1, overrides: own });
    expect((await client.get('/project/texts/pt-BR')).body).toEqual(set.body);
    expect((await client.get('/project/texts/pt-PT')).body).toMatchObject({ version: 0, overrides: {} });
    const settings = await client.patch('/project', { defaultLocale: 'pt' });
    expect(settings.body).toMatchObject({ defaultLocale: 'pt' });
  });

  it('refuse texts of unknown keys, without their placeholders, and of languages that are not shipped', async () => {
    await fresh();
    const put = (locale: string, texts: unknown) =>
      client.request('PUT', `/project/texts/${locale}`, { body: { texts } });
    const unknown = await put('en', { 'optIn.nothing': 'x', 'optIn.subject': ' ' });
    expectProblem(unknown, 400, 'validation-error', {
      errors: {
        'texts.optIn.nothing': 'is not a known field',
        'texts.optIn.subject': 'must not be empty',
      },
    });
    const missing = await put('en', { 'optIn.subject': 'Please confirm' });
    expectProblem(missing, 422, 'domain-validation', {
      errors: { 'texts.optIn.subject': 'must contain {project}' },
    });
    for (const answer of [await put('tlh', {}), await client.get('/project/texts/tlh')]) {
      expectProblem(answer, 400, 'validation-error', {
        errors: { locale: expect.stringMatching(/^must be one of en, de, /) },
      });
    }
    expect((await client.get('/project/texts/en')).at('version')).toBe(0);
  });
});
