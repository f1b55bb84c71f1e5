import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { openApiDocument } from '#testing/http/openapi-validation';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

describe('The fields of an answer', () => {
  let system: SharedSystem;
  let client: ApiClient;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    client = await (await system.project()).client('TEST');
    await client.post('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'TEXT' });
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
    for (const name of ['ada', 'bob']) {
      const consent = { source: 'form' };
      const customFields = { plan: name === 'ada' ? 'pro' : 'free' };
      await client.post('/subscribers', {
        email: `${name}@example.com`,
        topicKeys: [topicKey],
        consent,
        customFields,
      });
    }
  });
  afterAll(() => system?.stop());

  it('are those that are asked for: of an object, of a page’s items and of an array', async () => {
    const one = await client.get('/subscribers/ada%40example.com?fields=email,customFields.plan,createdAt');
    expect(one.body).toEqual({
      email: 'ada@example.com',
      customFields: { plan: 'pro' },
      createdAt: expect.stringMatching(/Z$/),
    });
    expect(one.headers.get('content-type')).toBe('application/json; charset=utf-8');
    const page = await client.get('/subscribers?size=1&fields=email,customFields.plan');
    expect(page.body).toEqual({
      data: [{ email: 'bob@example.com', customFields: { plan: 'free' } }],
      pagination: expect.objectContaining({ totalElements: 2, hasNext: true }),
    });
    expect(page.headers.get('link')).toContain('fields=email%2CcustomFields.plan');
    const consents = await client.get('/subscribers/ada%40example.com/consents?fields=consents.topicKey');
    expect(consents.body).toEqual({ consents: [{ topicKey }] });
    expect((await client.get('/custom-fields?fields=key')).body).toContainEqual({ key: 'plan' });
  });

  it('are refused by name when there are no such ones, after the resource was looked up', async () => {
    const refused = await client.get('/subscribers?fields=email,emial,pagination.pages');
    expectProblem(refused, 422, 'domain-validation', {
      errors: { fields: '"emial", "pagination.pages" are not fields of the answer' },
    });
    expect(refused.headers.get('link')).toBeNull();
    expectProblem(await client.get('/subscribers/nobody%40example.com?fields=emial'), 404, 'not-found');
    expectProblem(await client.get('/subscribers?fields='), 400, 'validation-error', {
      errors: { fields: 'must not be empty' },
    });
    expectProblem(await client.get('/subscribers?fields=email&fields=id&page=-1'), 400, 'validation-error', {
      errors: {
        fields: 'must be given once, with commas between names',
        page: 'must be at least 0',
      },
    });
    const body = { name: 'Offers' };
    expectProblem(await client.post('/topics?fields=name', body), 400, 'validation-error', {
      errors: { fields: 'is not a known field' },
    });
  });

  it('can be chosen of every operation that reads JSON', async () => {
    const { paths } = await openApiDocument(system.baseUrl);
    const asked = [];
    for (const [path, { get }] of Object.entries(paths)) {
      if (get?.responses['200']?.content?.['application/json'] === undefined || path.includes('{')) continue;
      const target = `${path.replace('/api/v1', '')}?fields=no_such_one`;
      const answer = await client.get(target);
      // Operations that have nothing to show in a new project.
      if (answer.status === 404) continue;
      expectProblem(answer, 422, 'domain-validation', {
        errors: { fields: '"no_such_one" is not a field of the answer' },
      });
      asked.push(path);
    }
    expect(asked.length).toBeGreaterThan(15);
  });
});
