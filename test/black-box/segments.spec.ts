import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { type System, sharedSystem, type SystemProject } from '#testing/programs/system';

const STRANGE_ID = '019aa3b5-0000-7000-8000-000000000000';
const rules = (where: unknown) => JSON.stringify({ version: 1, where });
const plan = (value: string) => rules({ field: 'custom.plan', op: 'eq', value });
const contentJson = JSON.stringify({ blocks: [{ type: 'text', html: '<p>Hello!</p>' }] });

describe('segments over HTTP', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  let topicId: string;
  let topicKey: string;
  const ids: Record<string, string> = {};

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicId = topic.at('id');
    topicKey = topic.at('topicKey');
    const options = [
      { value: 'free', label: 'Free' },
      { value: 'pro', label: 'Pro' },
    ];
    await client.post('/custom-fields', { key: 'plan', displayName: 'Plan', type: 'SELECT', options });
    await client.post('/custom-fields', { key: 'age', displayName: 'Age', type: 'NUMBER' });
    await person('ada', { plan: 'pro', age: 36 });
    await person('bob', { plan: 'free', age: 50 });
    await person('cleo', {});
  });
  afterAll(() => system?.stop());

  async function person(name: string, customFields: object): Promise<void> {
    const consent = { source: 'form' };
    const created = await client.post('/subscribers', {
      email: `${name}@example.com`,
      firstName: name,
      topicKeys: [topicKey],
      consent,
      customFields,
    });
    expect(created.status).toBe(201);
    ids[name] = created.at('id');
  }

  async function create(body: object): Promise<{ id: string; key: string }> {
    const created = await client.post('/segments', body);
    expect(created.status).toBe(201);
    return { id: created.at('id'), key: created.at('segmentKey') };
  }

  async function memberNames(idOrKey: string, query = ''): Promise<string[]> {
    const page = await client.get(`/segments/${idOrKey}/members${query}`);
    expect(page.status).toBe(200);
    return page.at<{ firstName: string }[]>('data').map(({ firstName }) => firstName);
  }

  it('are made, read by id and by key, listed newest first, changed and deleted', async () => {
    const created = await client.post('/segments', {
      name: 'Pros',
      description: 'They pay',
      rules: plan('PRO'),
    });
    expect(created.status).toBe(201);
    expect(created.body).toMatchObject({
      name: 'Pros',
      description: 'They pay',
      type: 'DYNAMIC',
      status: 'ACTIVE',
      rules: plan('PRO'),
      memberCount: 1,
      segmentKey: expect.stringMatching(/^APIT-\d+$/),
    });
    const [id, key] = [created.at('id'), created.at('segmentKey')];
    expect(created.headers.get('location')).toBe(`/api/v1/segments/${id}`);
    expect((await client.get(`/segments/${id}`)).body).toEqual(created.body);
    expect((await client.get(`/segments/${key}`)).body).toEqual(created.body);
    const fixed = await create({ name: 'Friends' });
    const list = await client.get('/segments?size=1');
    expect(list.at('data', 0, 'id')).toBe(fixed.id);
    expect(list.at('pagination', 'totalElements')).toBe(2);
    expect((await client.patch(`/segments/${key}`, {})).body).toEqual(created.body);
    const changed = await client.patch(`/segments/${id}`, {
      name: 'Free',
      description: null,
      status: 'INACTIVE',
      rules: plan('free'),
    });
    expect(changed.status).toBe(200);
    expect(changed.body).toMatchObject({
      name: 'Free',
      description: null,
      status: 'INACTIVE',
      memberCount: 1,
    });
    expect(await memberNames(key)).toEqual(['bob']);
    for (const each of [id, fixed.key]) expect((await client.delete(`/segments/${each}`)).status).toBe(204);
    for (const each of [id, key, fixed.id, 'nonsense', '%00']) {
      expect((await client.get(`/segments/${each}`)).status).toBe(404);
      expect((await client.delete(`/segments/${each}`)).status).toBe(404);
    }
  });

  it('refuse what the request alone shows to be wrong with 400', async () => {
    for (const [body, path] of [
      [{}, 'name'],
      [{ name: ' ' }, 'name'],
      [{ name: 'x'.repeat(201) }, 'name'],
      [{ name: 'x', description: 'x'.repeat(501) }, 'description'],
      [{ name: 'x', type: 'LIVE' }, 'type'],
      [{ name: 'x', rules: { version: 1 } }, 'rules'],
      [{ name: 'x', status: 'ACTIVE' }, 'status'],
    ] as const) {
      const answer = await client.post('/segments', body);
      expect([answer.status, Object.keys(answer.at<object>('errors'))]).toEqual([400, [path]]);
    }
    expect((await client.post('/segments/preview', {})).at('errors', 'rules')).toBe('is required');
  });

  it('refuse rules that this project does not allow with 422, every fault by its path', async () => {
    const where = {
      and: [
        { field: 'custom.unknown', op: 'eq', value: 1 },
        { field: 'custom.age', op: 'contains', value: 1 },
        { field: 'custom.age', op: 'gte', value: 'old' },
        { consent: { topicKey: 'APIT-99', status: ['SUBSCRIBED'] } },
        { not: { segment: { segmentKey: 'APIT-99', member: true } } },
        { event: { type: 'OPENED', campaignKey: 'APIT-999' }, count: { op: 'gte', value: 1 }, within: 'P3Y' },
      ],
    };
    const paths = [
      'rules.where.and[0].field',
      'rules.where.and[1].op',
      'rules.where.and[2].value',
      'rules.where.and[3].consent.topicKey',
      'rules.where.and[4].not.segment.segmentKey',
      'rules.where.and[5].event.campaignKey',
      'rules.where.and[5].within',
    ];
    const { id } = await create({ name: 'x', rules: plan('pro') });
    for (const answer of [
      await client.post('/segments', { name: 'x', rules: rules(where) }),
      await client.post('/segments/preview', { rules: rules(where) }),
      await client.patch(`/segments/${id}`, { rules: rules(where) }),
    ]) {
      expect(answer.status).toBe(422);
      expect(answer.at('type')).toMatch(/domain-validation$/);
      expect(Object.keys(answer.at<object>('errors')).sort()).toEqual(paths);
    }
    for (const text of ['', '{', 'null', `{"a":"${'x'.repeat(33_000)}"}`, '{"version":1}']) {
      expect((await client.post('/segments', { name: 'x', rules: text })).status).toBe(422);
    }
    for (const body of [{ type: 'STATIC', rules: plan('pro') }, { type: 'DYNAMIC' }]) {
      const answer = await client.post('/segments', { name: 'x', ...body });
      expect([answer.status, Object.keys(answer.at<object>('errors'))]).toEqual([422, ['rules']]);
    }
  });

  it('count and show a few of those for whom rules hold', async () => {
    const older = await client.post('/segments/preview', {
      rules: rules({ field: 'custom.age', op: 'between', value: [36, 60] }),
    });
    expect([older.status, older.at('count')]).toEqual([200, 2]);
    expect(older.at<{ email: string }[]>('sample').map(({ email }) => email)).toEqual([
      'bob@example.com',
      'ada@example.com',
    ]);
    expect(older.at('sample', 0)).toEqual({
      subscriberId: ids['bob'],
      email: 'bob@example.com',
      firstName: 'bob',
      lastName: null,
      addedAt: expect.stringMatching(/Z$/),
    });
    const notPro = await client.post('/segments/preview', {
      rules: rules({ field: 'custom.plan', op: 'neq', value: 'pro' }),
    });
    expect(notPro.at('count')).toBe(2);
    const eitherPlan = await client.post('/segments/preview', {
      rules: rules({ field: 'custom.plan', op: 'in', value: ['free', 'pro'] }),
    });
    expect(eitherPlan.at('count')).toBe(2);
  });

  it('have members that are added and removed, by id or address, with either way of removing', async () => {
    const { id, key } = await create({ name: 'Friends' });
    const members = `/segments/${key}/members`;
    expect((await client.post(members, { subscriberIds: [ids['ada'], ids['bob']] })).status).toBe(204);
    expect((await client.post(members, { emails: ['CLEO@example.com'] })).status).toBe(204);
    expect((await memberNames(id)).sort()).toEqual(['ada', 'bob', 'cleo']);
    expect(await memberNames(id, '?page=1&size=2')).toHaveLength(1);
    expect((await client.delete(members, { body: { subscriberIds: [ids['ada']] } })).status).toBe(204);
    expect((await client.post(`${members}/remove`, { emails: ['cleo@example.com'] })).status).toBe(204);
    expect(await memberNames(id)).toEqual(['bob']);
    expect((await client.get(`/segments/${id}`)).at('memberCount')).toBe(1);

    const foreign = { email: 'zoë@bücher.example', topicKeys: [topicKey], consent: { source: 'form' } };
    expect((await client.post('/subscribers', foreign)).status).toBe(201);
    expect((await client.post(members, { emails: ['zoë@xn--bcher-kva.example'] })).status).toBe(204);
    expect((await client.get(members)).at('data', 0, 'email')).toBe(foreign.email);
    expect((await client.delete('/subscribers/zo%C3%AB@b%C3%BCcher.example')).status).toBe(204);

    for (const [body, path] of [
      [{}, 'subscriberIds'],
      [{ subscriberIds: [] }, 'subscriberIds'],
      [{ subscriberIds: ['x'] }, 'subscriberIds[0]'],
      [{ subscriberIds: Array.from({ length: 10_001 }, () => STRANGE_ID) }, 'subscriberIds'],
      [{ emails: ['nobody'] }, 'emails[0]'],
      [{ subscriberIds: [STRANGE_ID], more: 1 }, 'more'],
    ] as const) {
      const answer = await client.post(members, body);
      expect([answer.status, Object.keys(answer.at<object>('errors'))]).toEqual([400, [path]]);
    }
    const many = await client.post(members, {
      subscriberIds: Array.from({ length: 10_000 }, () => ids['ada']),
    });
    expect(many.status).toBe(204);
    const unknown = await client.post(members, { subscriberIds: [ids['ada'], STRANGE_ID] });
    expect([unknown.status, unknown.at('errors', 'subscriberIds[1]')]).toEqual([
      422,
      'is not a known subscriber',
    ]);
    const dynamic = await create({ name: 'x', rules: plan('pro') });
    expect(
      (await client.post(`/segments/${dynamic.id}/members`, { subscriberIds: [ids['ada']] })).status,
    ).toBe(422);
    expect(
      (await client.delete(`/segments/${dynamic.id}/members`, { body: { subscriberIds: [ids['ada']] } }))
        .status,
    ).toBe(422);
    expect(
      (await client.post(`/segments/${STRANGE_ID}/members`, { subscriberIds: [ids['ada']] })).status,
    ).toBe(404);
  });

  it('send a campaign to those of its topic who are in one of its segments as they are at that moment', async () => {
    const pros = await create({ name: 'Pros', rules: plan('pro') });
    const friends = await create({ name: 'Friends' });
    await client.post(`/segments/${friends.id}/members`, { emails: ['cleo@example.com'] });
    const campaign = await client.post('/campaigns', {
      name: 'Offer',
      subject: 'Offer',
      contentJson,
      topicIds: [topicId],
      segmentIds: [pros.id, friends.id],
    });
    const key = campaign.at('campaignKey');
    const analysed = await client.get(`/campaigns/${key}/pre-send-analysis`);
    expect([campaign.status, analysed.at('audience', 'willReceive')]).toEqual([201, 2]);
    await person('dora', { plan: 'pro' });
    expect((await client.post(`/campaigns/${key}/send`)).at('estimatedRecipientCount')).toBe(3);
    await eventually(
      'the campaign is sent',
      async () => (await client.get(`/campaigns/${key}`)).at('status') === 'SENT',
    );
    const inbox = await client.get('/test-inbox/messages?kind=CAMPAIGN');
    expect(
      inbox
        .at<{ to: string }[]>('data')
        .map(({ to }) => to)
        .sort(),
    ).toEqual(['ada@example.com', 'cleo@example.com', 'dora@example.com']);
    const sentTo = await client.post('/segments/preview', {
      rules: rules({
        event: { type: 'DELIVERED', campaignKey: key },
        count: { op: 'eq', value: 1 },
        within: 'PT1H',
      }),
    });
    expect(sentTo.at('count')).toBe(3);
  });

  it('are accepted by a campaign only when they are known and active', async () => {
    const { id } = await create({ name: 'x' });
    await client.patch(`/segments/${id}`, { status: 'ARCHIVED' });
    const draft = { name: 'x', subject: 'x', contentJson, topicIds: [topicId], segmentIds: [id, STRANGE_ID] };
    const answer = await client.post('/campaigns', draft);
    expect([answer.status, Object.keys(answer.at<object>('errors'))]).toEqual([
      422,
      ['segmentIds[0]', 'segmentIds[1]'],
    ]);
  });

  it('cannot be deleted while a scheduled campaign or another segment uses them', async () => {
    const inner = await create({ name: 'x', rules: plan('pro') });
    const outer = await create({
      name: 'y',
      rules: rules({ segment: { segmentKey: inner.key, member: true } }),
    });
    const refused = await client.delete(`/segments/${inner.id}`);
    expect([refused.status, refused.at('type')]).toEqual([409, expect.stringMatching(/in-use$/)]);
    const circle = await client.patch(`/segments/${inner.id}`, {
      rules: rules({ segment: { segmentKey: outer.key, member: true } }),
    });
    expect([circle.status, Object.keys(circle.at<object>('errors'))]).toEqual([
      422,
      ['rules.where.segment.segmentKey'],
    ]);
    const draft = { name: 'x', subject: 'x', contentJson, topicIds: [topicId], segmentIds: [outer.id] };
    const campaign = await client.post('/campaigns', draft);
    await system.database.query(`update messaging.campaigns set status = 'SCHEDULED' where id = $1`, [
      campaign.at('id'),
    ]);
    expect((await client.delete(`/segments/${outer.id}`)).status).toBe(409);
    await system.database.query(`update messaging.campaigns set status = 'DRAFT' where id = $1`, [
      campaign.at('id'),
    ]);
    expect((await client.delete(`/segments/${outer.id}`)).status).toBe(204);
    expect((await client.delete(`/segments/${inner.id}`)).status).toBe(204);
    expect((await client.post(`/campaigns/${campaign.at('campaignKey')}/send`)).status).toBe(409);
  });

  it('ask of events that a client reported', async () => {
    await client.post('/subscribers/bob@example.com/events', {
      name: 'order.paid',
      properties: { total: 5 },
    });
    const buyers = rules({
      event: { type: 'CUSTOM', name: 'order.paid' },
      count: { op: 'gte', value: 1 },
      within: 'P1D',
    });
    const preview = await client.post('/segments/preview', { rules: buyers });
    expect(preview.at('sample', 0, 'email')).toBe('bob@example.com');
  });

  it('ask which link of a mail somebody has not followed', async () => {
    const indifferent = rules({
      event: { type: 'CLICKED', url: 'https://acme.example/news' },
      count: { op: 'lte', value: 0 },
      within: 'P1D',
    });
    const preview = await client.post('/segments/preview', { rules: indifferent });
    const everybody = (await client.get('/subscribers')).at('pagination', 'totalElements');
    expect([preview.status, preview.at('count')]).toEqual([200, everybody]);
  });

  it('are out of reach for other projects, the other environment and keys without the scope', async () => {
    const { id, key } = await create({ name: 'x', rules: plan('pro') });
    const strangers = [await project.client('LIVE'), await (await system.project()).client('TEST')];
    for (const stranger of strangers) {
      for (const path of [id, key]) {
        expect((await stranger.get(`/segments/${path}`)).status).toBe(404);
        expect((await stranger.get(`/segments/${path}/members`)).status).toBe(404);
        expect((await stranger.patch(`/segments/${path}`, { name: 'y' })).status).toBe(404);
        expect(
          (await stranger.post(`/segments/${path}/members`, { subscriberIds: [ids['ada']] })).status,
        ).toBe(404);
        expect((await stranger.delete(`/segments/${path}`)).status).toBe(404);
      }
      expect((await stranger.get('/segments')).at('pagination', 'totalElements')).toBe(0);
    }
    const reader = await project.client('TEST', { scopes: ['segments:read'] });
    expect((await reader.get('/segments')).status).toBe(200);
    expect((await reader.post('/segments/preview', { rules: plan('pro') })).status).toBe(200);
    for (const answer of [
      await reader.post('/segments', { name: 'x' }),
      await reader.delete(`/segments/${id}`),
    ]) {
      expect([answer.status, answer.at('requiredScope')]).toEqual([403, 'segments:write']);
    }
    const writer = await project.client('TEST', { scopes: ['segments:write'] });
    expect((await writer.get(`/segments/${id}/members`)).at('requiredScope')).toBe('segments:read');
  });
});
