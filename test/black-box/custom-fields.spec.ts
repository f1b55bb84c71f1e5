import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type System, sharedSystem } from '#testing/programs/system';

const OPTIONS = [
  { value: 'free', label: 'Free' },
  { value: 'pro', label: 'Professional' },
];

describe('custom fields over HTTP', () => {
  let system: System;

  beforeAll(async () => {
    system = await sharedSystem();
  });
  afterAll(() => system?.stop());

  const newClient = async () => (await system.project()).client('TEST');

  const make = async (
    client: ApiClient,
    key: string,
    type: string,
    rest: object = {},
  ): Promise<ApiAnswer> => {
    const created = await client.post('/custom-fields', { key, displayName: key, type, ...rest });
    expect(created.status).toBe(201);
    return created;
  };

  async function topicOf(client: ApiClient) {
    const created = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    return { id: created.at('id'), topicKey: created.at('topicKey') };
  }

  const subscribe = (client: ApiClient, topicKey: string, email: string, customFields?: unknown) =>
    client.post('/subscribers', { email, topicKeys: [topicKey], consent: { source: 'form' }, customFields });

  const refusal = (status: number, slug: string, members: object = {}) => ({
    status,
    body: { status, type: expect.stringMatching(new RegExp(`/problems/${slug}$`)), ...members },
  });

  it('are made, read, listed as a bare array with those of the system, changed and archived', async () => {
    const client = await newClient();
    const created = await make(client, 'plan', 'SELECT', {
      options: OPTIONS,
      description: 'What they pay for',
    });
    expect(created.headers.get('location')).toBe('/api/v1/custom-fields/plan');
    expect(created.body).toEqual({
      id: expect.stringMatching(/^[0-9a-f-]{36}$/),
      key: 'plan',
      displayName: 'plan',
      description: 'What they pay for',
      type: 'SELECT',
      status: 'ACTIVE',
      isSystem: false,
      isRequired: false,
      defaultValue: null,
      options: OPTIONS,
      createdAt: expect.stringMatching(/\.\d{3}Z$/),
      updatedAt: created.at('createdAt'),
      archivedAt: null,
    });
    expect((await client.get('/custom-fields/plan')).body).toEqual(created.body);
    const list = (await client.get('/custom-fields')).body as { key: string; isSystem: boolean }[];
    expect(list.map(({ key }) => key)).toEqual(['email', 'first_name', 'last_name', 'phone', 'plan']);
    expect(list.map(({ isSystem }) => isSystem)).toEqual([true, true, true, true, false]);
    expect(list[4]).toEqual(created.body);

    expect(
      await client.patch('/custom-fields/plan/details', { displayName: 'Plan', description: null }),
    ).toMatchObject({
      status: 200,
      body: { displayName: 'Plan', description: null, options: OPTIONS },
    });
    expect(await client.patch('/custom-fields/plan/config', { defaultValue: 'free' })).toMatchObject({
      status: 200,
      body: { defaultValue: 'free', options: OPTIONS, displayName: 'Plan' },
    });
    const unchanged = await client.get('/custom-fields/plan');
    for (const part of ['details', 'config']) {
      expect((await client.patch(`/custom-fields/plan/${part}`, {})).body).toEqual(unchanged.body);
    }
    expect(await client.delete('/custom-fields/plan')).toMatchObject({ status: 204, text: '' });
    expect(await client.delete('/custom-fields/plan')).toMatchObject({ status: 204, text: '' });
    expect(await client.get('/custom-fields/plan')).toMatchObject({
      status: 200,
      body: { status: 'ARCHIVED', archivedAt: expect.any(String) },
    });
    expect((await client.get('/custom-fields')).body).toHaveLength(4);
  });

  it('are refused with all that is wrong with the request by itself', async () => {
    const client = await newClient();
    const wrong = {
      key: 'Plan',
      displayName: 'x'.repeat(101),
      type: 'SELECT',
      description: 'x'.repeat(501),
      isRequired: 'yes',
      defaultValue: 5,
      status: 'ACTIVE',
    };
    expect(await client.post('/custom-fields', wrong)).toMatchObject(
      refusal(400, 'validation-error', {
        errors: {
          key: expect.stringMatching(/^must be 1 to 64/),
          displayName: 'must be at most 100 characters',
          description: 'must be at most 500 characters',
          isRequired: 'must be true or false',
          defaultValue: 'must be a string',
          status: 'is not a known field',
          options: 'is required for SELECT and MULTI_SELECT',
        },
      }),
    );
    expect(await client.post('/custom-fields', {})).toMatchObject(
      refusal(400, 'validation-error', {
        errors: { key: 'is required', displayName: 'is required', type: 'is required' },
      }),
    );
    const field = { key: 'plan', displayName: 'Plan' };
    for (const [rest, errors] of [
      [{ type: 'ENUM' }, { type: expect.stringMatching(/^must be one of TEXT, LONG_TEXT/) }],
      [{ type: 'MULTI_SELECT', options: [] }, { options: 'is required for SELECT and MULTI_SELECT' }],
      [
        { type: 'TEXT', options: OPTIONS },
        { options: 'must be absent unless the type is SELECT or MULTI_SELECT' },
      ],
      [{ type: 'TEXT', options: 'free' }, { options: 'must be a list' }],
      [{ type: 'SELECT', options: null }, { options: 'is required for SELECT and MULTI_SELECT' }],
      [
        {
          type: 'SELECT',
          options: [OPTIONS[0], { value: 'free', label: ' ', color: 'red' }, { label: 'x' }],
        },
        {
          'options[1].value': 'must be unique',
          'options[1].label': 'must not be empty',
          'options[1].color': 'is not a known field',
          'options[2].value': 'is required',
        },
      ],
    ] as const) {
      expect(await client.post('/custom-fields', { ...field, ...rest })).toMatchObject(
        refusal(400, 'validation-error', { errors }),
      );
    }
    for (const key of ['', '_a', '1a', 'a-b', 'a.b', 'é', '__proto__', 'x'.repeat(65)]) {
      expect(
        (await client.post('/custom-fields', { key, displayName: 'X', type: 'TEXT' })).at('errors', 'key'),
      ).toBeDefined();
    }
    expect(
      (await client.patch('/custom-fields/plan/details', { displayName: null, type: 'TEXT' })).at('errors'),
    ).toEqual({
      displayName: 'must be a string',
      type: 'is not a known field',
    });
    expect(
      (await client.patch('/custom-fields/plan/config', { key: 'x', options: 'free' })).at('errors'),
    ).toEqual({
      key: 'is not a known field',
      options: 'must be a list',
    });
    expect((await client.post('/custom-fields', '[]')).status).toBe(400);
    expect((await client.post('/custom-fields', '{')).status).toBe(400);
  });

  it('are refused when the project does not allow them', async () => {
    const client = await newClient();
    await make(client, 'plan', 'SELECT', { options: OPTIONS });
    const attempt = (key: string, type: string, rest: object = {}) =>
      client.post('/custom-fields', { key, displayName: 'X', type, ...rest });
    for (const [answer, errors] of [
      [await attempt('plan', 'TEXT'), { key: 'is already used by another field' }],
      [await attempt('email', 'TEXT'), { key: 'is reserved' }],
      [await attempt('constructor', 'TEXT'), { key: 'is reserved' }],
      [await attempt('age', 'NUMBER', { defaultValue: 'old' }), { defaultValue: 'must be an integer' }],
      [
        await client.patch('/custom-fields/plan/config', { defaultValue: 'gold' }),
        { defaultValue: 'must be one of free, pro' },
      ],
      [
        await client.patch('/custom-fields/plan/config', { options: [] }),
        { options: 'must have at least 1 item for SELECT' },
      ],
    ] as const) {
      expect(answer).toMatchObject(refusal(422, 'domain-validation', { errors }));
    }
  });

  it('of the system refuse to be changed or archived', async () => {
    const client = await newClient();
    for (const key of ['email', 'first_name', 'last_name', 'phone']) {
      expect(await client.get(`/custom-fields/${key}`)).toMatchObject({
        status: 200,
        body: { key, isSystem: true },
      });
      for (const answer of [
        await client.patch(`/custom-fields/${key}/details`, { displayName: 'Mine' }),
        await client.patch(`/custom-fields/${key}/config`, { defaultValue: null }),
        await client.delete(`/custom-fields/${key}`),
      ]) {
        expect(answer).toMatchObject(
          refusal(409, 'invalid-state', { currentState: 'SYSTEM', allowedStates: [] }),
        );
      }
    }
  });

  it('need the scope of the operation, and are unknown to other projects and environments', async () => {
    const project = await system.project();
    const owner = await project.client('TEST');
    await make(owner, 'plan', 'TEXT');
    const reader = await project.client('TEST', { scopes: ['custom_fields:read'] });
    const writer = await project.client('TEST', { scopes: ['custom_fields:write'] });
    expect((await reader.get('/custom-fields')).status).toBe(200);
    expect(await reader.delete('/custom-fields/plan')).toMatchObject(
      refusal(403, 'insufficient-scope', { requiredScope: 'custom_fields:write' }),
    );
    expect(await writer.get('/custom-fields/plan')).toMatchObject(
      refusal(403, 'insufficient-scope', { requiredScope: 'custom_fields:read' }),
    );
    for (const stranger of [await project.client('LIVE'), await newClient()]) {
      expect((await stranger.get('/custom-fields')).body).toHaveLength(4);
      for (const answer of [
        await stranger.get('/custom-fields/plan'),
        await stranger.patch('/custom-fields/plan/details', { displayName: 'Mine' }),
        await stranger.patch('/custom-fields/plan/config', { defaultValue: 'x' }),
        await stranger.delete('/custom-fields/plan'),
      ]) {
        expect(answer).toMatchObject(refusal(404, 'not-found'));
      }
      const { topicKey } = await topicOf(stranger);
      expect(await subscribe(stranger, topicKey, 'ada@example.com', { plan: 'x' })).toMatchObject(
        refusal(422, 'domain-validation', { errors: { 'customFields.plan': 'is not a known field' } }),
      );
      await make(stranger, 'plan', 'NUMBER');
    }
    expect((await owner.get('/custom-fields/plan')).at('type')).toBe('TEXT');
  });

  it('are values of subscribers: given as text or JSON, returned native, merged, cleared', async () => {
    const client = await newClient();
    const { topicKey } = await topicOf(client);
    await make(client, 'plan', 'SELECT', { options: OPTIONS, isRequired: true });
    await make(client, 'age', 'NUMBER', { defaultValue: '18' });
    await make(client, 'vip', 'BOOLEAN');
    await make(client, 'tags', 'MULTI_SELECT', {
      options: [
        { value: 'a', label: 'A' },
        { value: 'b', label: 'B' },
      ],
    });
    await make(client, 'since', 'DATETIME');
    await make(client, 'spent', 'DECIMAL');
    const created = await subscribe(client, topicKey, 'ada@example.com', {
      plan: 'pro',
      age: '41',
      vip: 'true',
      tags: ['b', 'a'],
      since: '2026-11-21T07:00:00+01:00',
      spent: 12.5,
    });
    const values = {
      plan: 'pro',
      age: 41,
      vip: true,
      tags: ['a', 'b'],
      since: '2026-11-21T06:00:00.000Z',
      spent: 12.5,
    };
    expect([created.status, created.at('customFields')]).toEqual([201, values]);
    expect((await client.get('/subscribers/ada@example.com')).at('customFields')).toEqual(values);
    expect((await client.get('/subscribers')).at('data', 0, 'customFields')).toEqual(values);
    const patched = await client.patch('/subscribers/ada@example.com', {
      customFields: { age: null, vip: false },
    });
    const { age: _, ...rest } = values;
    expect(patched).toMatchObject({ status: 200, body: { customFields: { ...rest, vip: false } } });
    expect(Object.keys(patched.at<object>('customFields'))).not.toContain('age');

    const bad = { plan: 'gold', age: 4.5, vip: 'yes', tags: 'c', since: '2026-11-21', spent: '1,5', nope: 1 };
    const errors = {
      'customFields.plan': 'must be one of free, pro',
      'customFields.age': 'must be an integer',
      'customFields.vip': 'must be true or false',
      'customFields.tags': 'must only contain values of a, b',
      'customFields.since': 'must be a date and time in ISO 8601 with a time zone',
      'customFields.spent': 'must be a number',
      'customFields.nope': 'is not a known field',
    };
    expect(await subscribe(client, topicKey, 'bob@example.com', bad)).toMatchObject(
      refusal(422, 'domain-validation', { errors }),
    );
    expect(await client.patch('/subscribers/ada@example.com', { customFields: bad })).toMatchObject(
      refusal(422, 'domain-validation', { errors }),
    );
    for (const customFields of [undefined, {}, { plan: null }]) {
      expect(await subscribe(client, topicKey, 'bob@example.com', customFields)).toMatchObject(
        refusal(422, 'domain-validation', { errors: { 'customFields.plan': 'is required' } }),
      );
    }
    expect(
      await client.patch('/subscribers/ada@example.com', { customFields: { plan: null } }),
    ).toMatchObject(refusal(422, 'domain-validation', { errors: { 'customFields.plan': 'is required' } }));
    expect(await client.patch('/subscribers/ada@example.com', { customFields: 'pro' })).toMatchObject(
      refusal(400, 'validation-error', { errors: { customFields: 'must be an object' } }),
    );
    expect((await subscribe(client, 'APIT-99', 'bob@example.com', { nope: 1 })).at('errors')).toEqual({
      'topicKeys[0]': 'is not a known topic',
      'customFields.nope': 'is not a known field',
      'customFields.plan': 'is required',
    });
    const proto = '{"customFields":{"__proto__":{"plan":"pro"}}}';
    expect((await client.patch('/subscribers/ada@example.com', proto)).status).toBeGreaterThanOrEqual(400);
  });

  it('of a subscriber are at most 16 KB', async () => {
    const client = await newClient();
    const { topicKey } = await topicOf(client);
    await make(client, 'notes', 'LONG_TEXT');
    await make(client, 'more', 'LONG_TEXT');
    const notes = 'x'.repeat(10_000);
    expect(await subscribe(client, topicKey, 'ada@example.com', { notes, more: notes })).toMatchObject(
      refusal(422, 'domain-validation', { errors: { customFields: 'must be at most 16 KB in total' } }),
    );
    expect((await subscribe(client, topicKey, 'ada@example.com', { notes })).status).toBe(201);
    expect(
      (await client.patch('/subscribers/ada@example.com', { customFields: { more: notes } })).status,
    ).toBe(422);
  });

  it('keep an option that a subscriber has, and their values when they are archived', async () => {
    const client = await newClient();
    const { topicKey } = await topicOf(client);
    await make(client, 'plan', 'SELECT', { options: OPTIONS });
    await subscribe(client, topicKey, 'ada@example.com', { plan: 'pro' });
    const onlyFree = { options: [OPTIONS[0]] };
    expect(await client.patch('/custom-fields/plan/config', onlyFree)).toMatchObject(
      refusal(422, 'domain-validation', {
        errors: { options: 'must keep pro: subscribers have these values' },
      }),
    );
    expect((await client.delete('/custom-fields/plan')).status).toBe(204);
    expect((await client.get('/subscribers/ada@example.com')).at('customFields')).toEqual({});
    expect(
      await client.patch('/subscribers/ada@example.com', { customFields: { plan: 'free' } }),
    ).toMatchObject(
      refusal(422, 'domain-validation', { errors: { 'customFields.plan': 'is not a known field' } }),
    );
    expect(await client.patch('/custom-fields/plan/details', { isRequired: true })).toMatchObject(
      refusal(409, 'invalid-state', { currentState: 'ARCHIVED', allowedStates: ['ACTIVE'] }),
    );
    expect(
      (await client.post('/custom-fields', { key: 'plan', displayName: 'P', type: 'TEXT' })).at('errors'),
    ).toEqual({
      type: 'must be SELECT: subscribers have values of an archived field with this key',
    });
    await make(client, 'plan', 'SELECT', { options: OPTIONS });
    expect((await client.get('/subscribers/ada@example.com')).at('customFields')).toEqual({ plan: 'pro' });
    await client.patch('/subscribers/ada@example.com', { customFields: { plan: 'free' } });
    expect((await client.patch('/custom-fields/plan/config', onlyFree)).status).toBe(200);
  });

  it('are at most 100 active ones, however many are made at once', async () => {
    const client = await newClient();
    const outcomes = await Promise.all(
      Array.from({ length: 103 }, (_, index) =>
        client.post('/custom-fields', { key: `f${index}`, displayName: 'F', type: 'TEXT' }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 201)).toHaveLength(100);
    const refused = outcomes.filter(({ status }) => status !== 201);
    for (const answer of refused) {
      expect(answer).toMatchObject(
        refusal(422, 'domain-validation', { errors: { key: 'would be more than 100 active fields' } }),
      );
    }
    expect((await client.get('/custom-fields')).body).toHaveLength(104);
  });

  it('fill merge tags, with the default where a subscriber has no value, and unknown ones stop a campaign', async () => {
    const client = await newClient();
    const { id, topicKey } = await topicOf(client);
    await make(client, 'plan', 'SELECT', { options: OPTIONS, defaultValue: 'free' });
    await make(client, 'tags', 'MULTI_SELECT', { options: OPTIONS });
    await subscribe(client, topicKey, 'ada@example.com', { plan: 'pro', tags: ['pro', 'free'] });
    await subscribe(client, topicKey, 'bob@example.com');
    const campaign = async (text: string) => {
      const html = `<p>${text}</p>`;
      const created = await client.post('/campaigns', {
        name: 'Plans',
        subject: 'You are on {{ custom.plan }}',
        contentJson: JSON.stringify({ blocks: [{ type: 'text', html }] }),
        topicIds: [id],
      });
      return client.post(`/campaigns/${created.at('campaignKey')}/send`);
    };
    const refused = await campaign('{{ custom.plann }}');
    expect(refused).toMatchObject(refusal(409, 'pre-send-rejected'));
    expect(refused.text).toContain('{{ custom.plann }} is not known');
    expect((await campaign('Tags: {{ custom.tags | join: "+" }}.')).status).toBe(200);
    const subjects = await eventually('both mails', async () => {
      const inbox = await client.get('/test-inbox/messages?kind=CAMPAIGN');
      const mails = inbox.at<{ id: string; to: string; subject: string }[]>('data');
      return mails.length === 2 ? mails : null;
    });
    expect(Object.fromEntries(subjects.map(({ to, subject }) => [to, subject]))).toEqual({
      'ada@example.com': 'You are on pro',
      'bob@example.com': 'You are on free',
    });
    const ofAda = subjects.find(({ to }) => to === 'ada@example.com');
    expect((await client.get(`/test-inbox/messages/${ofAda?.id}`)).at('text')).toContain('Tags: free+pro.');
    expect((await client.get('/subscribers/bob@example.com')).at('customFields')).toEqual({});
  });

  it('stay while a campaign, an automation or a segment uses them, and the answer names each', async () => {
    const client = await newClient();
    await make(client, 'plan', 'SELECT', { options: OPTIONS });
    const topic = await topicOf(client);
    await subscribe(client, topic.topicKey, 'ada@example.com', { plan: 'free' });
    const rules = { version: 1, where: { field: 'custom.plan', op: 'eq', value: 'pro' } };
    const segment = await client.post('/segments', { name: 'Pro', rules: JSON.stringify(rules) });
    const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: '<p>{{ custom.plan }}</p>' }] });
    await client.patch('/custom-fields/plan/config', { defaultValue: 'free' });
    const campaign = await client.post('/campaigns', {
      name: 'Autumn',
      subject: 'x',
      contentJson,
      topicIds: [topic.id],
      scheduledAt: new Date(Date.now() + 3_600_000).toISOString(),
    });
    const campaignPath = `/campaigns/${campaign.at('campaignKey')}`;
    expect((await client.post(`${campaignPath}/schedule`)).status).toBe(200);
    const automation = await client.post('/automations', { name: 'Welcome', triggerType: 'manual' });
    const automationPath = `/automations/${automation.at('automationKey')}`;
    const nodes = [
      { id: 'start', type: 'trigger', config: {} },
      { id: 'pro', type: 'goal', config: { name: 'Pro', rules } },
    ];
    const edges = [{ id: 'e', source: 'start', target: 'pro' }];
    await client.patch(`${automationPath}/content`, {
      nodes: JSON.stringify(nodes),
      edges: JSON.stringify(edges),
    });
    expect((await client.post(`${automationPath}/activate`)).status).toBe(200);
    const template = await client.post('/templates', {
      name: 'Plans',
      kind: 'CAMPAIGN',
      subject: 'x',
      contentJson,
    });
    const templatePath = `/templates/${template.at('templateKey')}`;
    expect((await client.post(`${templatePath}/publish`, {})).status).toBe(200);
    const users = [
      { kind: 'segment', key: segment.at('segmentKey'), name: 'Pro' },
      { kind: 'campaign', key: campaign.at('campaignKey'), name: 'Autumn' },
      { kind: 'automation', key: automation.at('automationKey'), name: 'Welcome' },
      { kind: 'template', key: template.at('templateKey'), name: 'Plans' },
    ];
    const inUse = await client.delete('/custom-fields/plan');
    expect(inUse).toMatchObject(refusal(409, 'in-use', { usedByCount: 4 }));
    expect(inUse.at('usedBy')).toEqual(expect.arrayContaining(users));
    const withoutPro = await client.patch('/custom-fields/plan/config', { options: OPTIONS.slice(0, 1) });
    expect(withoutPro).toMatchObject(refusal(409, 'in-use', { usedByCount: 2 }));
    const withoutDefault = await client.patch('/custom-fields/plan/config', { defaultValue: null });
    expect(withoutDefault).toMatchObject(
      refusal(409, 'in-use', { usedByCount: 2, usedBy: [users[3], users[1]] }),
    );
    const withoutFree = await client.patch('/custom-fields/plan/config', { options: OPTIONS.slice(1) });
    expect(withoutFree).toMatchObject(refusal(422, 'domain-validation'));
    expect((await client.get('/custom-fields/plan')).at('status')).toBe('ACTIVE');
    await client.post(`${campaignPath}/cancel`);
    await client.post(`${automationPath}/pause`);
    expect((await client.delete(templatePath)).status).toBe(204);
    expect((await client.delete(`/segments/${segment.at('id')}`)).status).toBe(204);
    expect((await client.delete('/custom-fields/plan')).status).toBe(204);
  });
});
