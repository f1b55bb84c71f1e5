import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem } from '#testing/programs/system';

const consent = { source: 'form' };
const keys = (count: number, prefix = 'k') =>
  Object.fromEntries(Array.from({ length: count }, (_unused, index) => [`${prefix}${index}`, `v${index}`]));
/** At the bounds, with what a program may put there. */
const METADATA = { ['k'.repeat(40)]: '🌱'.repeat(500), crmId: '4711', '': undefined, 'ü "q"': 'a\r\nb, c' };

describe('The metadata', () => {
  let system: SharedSystem;
  let client: ApiClient;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    client = await (await system.project()).client('TEST');
    topicKey = (await client.post('/topics', { name: 'All', doubleOptInEnabled: false })).at('topicKey');
  });
  afterAll(() => system?.stop());

  /** Makes one with a body of `more`, and says where it then is. */
  const MADE: Record<string, (more: object) => Promise<[ApiAnswer, path: string]>> = {
    'a subscriber': async (more) => {
      const email = `m${Math.random()}@example.com`;
      const answer = await client.post('/subscribers', { email, topicKeys: [topicKey], consent, ...more });
      return [answer, `/subscribers/${email}`];
    },
    'a topic': async (more) => {
      const answer = await client.post('/topics', { name: 'News', ...more });
      return [answer, `/topics/${answer.at('topicKey')}`];
    },
    'a campaign': async (more) => {
      const answer = await client.post('/campaigns', { name: 'Spring', subject: 'Spring', ...more });
      return [answer, `/campaigns/${answer.at('campaignKey')}`];
    },
    'an automation': async (more) => {
      const answer = await client.post('/automations', { name: 'Welcome', ...more });
      return [answer, `/automations/${answer.at('id')}`];
    },
  };

  it.each(Object.entries(MADE))('of %s is kept, shown, and changed key by key', async (_what, make) => {
    const [made, path] = await make({ metadata: METADATA });
    expect(made.status).toBe(201);
    const { '': _none, ...kept } = METADATA;
    expect(made.at('metadata')).toEqual(kept);
    expect((await client.get(path)).at('metadata')).toEqual(kept);
    const list = await client.get(`${path.split('/').slice(0, 2).join('/')}?size=1&fields=metadata.crmId`);
    expect(list.at('data')).toEqual([{ metadata: { crmId: '4711' } }]);
    const changed = await client.patch(path, { metadata: { crmId: null, orderId: '1', unknown: null } });
    expect(changed.status).toBe(200);
    const { crmId: _crmId, ...others } = kept;
    expect(changed.at('metadata')).toEqual({ ...others, orderId: '1' });
    // As of custom fields: there is nothing to clear.
    expect((await client.patch(path, { metadata: null })).at('metadata')).toEqual(changed.at('metadata'));
    const [without] = await make({});
    expect(without.at('metadata')).toEqual({});
  });

  it.each(Object.entries(MADE))('of %s has at most 20 keys, and says what is wrong', async (_what, make) => {
    const [refused] = await make({ metadata: keys(21) });
    expectProblem(refused, 422, 'domain-validation', {
      errors: { metadata: 'must have at most 20 keys; it would have 21' },
    });
    const [made, path] = await make({ metadata: keys(20) });
    expect(made.status).toBe(201);
    expectProblem(await client.patch(path, { metadata: { other: 'v' } }), 422, 'domain-validation', {
      errors: { metadata: 'must have at most 20 keys; it would have 21' },
    });
    expect((await client.get(path)).at('metadata')).toEqual(keys(20));
    expect((await client.patch(path, { metadata: { k0: null, other: 'v' } })).status).toBe(200);
    const wrong = {
      ['k'.repeat(41)]: 'v',
      long: 'v'.repeat(501),
      number: 1,
      nested: { a: 'v' },
      nul: 'a\0b',
      '': 'v',
    };
    const answer = await client.patch(path, { metadata: wrong });
    expectProblem(answer, 400, 'validation-error', { errors: expect.any(Object) });
    expect(Object.keys(answer.at<Record<string, string>>('errors')).sort()).toEqual(
      Object.keys(wrong)
        .map((key) => (key === '' ? 'metadata.' : `metadata.${key}`))
        .sort(),
    );
  });
});
