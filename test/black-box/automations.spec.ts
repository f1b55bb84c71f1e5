import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { sharedSystem, type System, type SystemProject } from '#testing/programs/system';

const STRANGE_ID = '019aa3b5-0000-7000-8000-000000000000';
const contentJson = JSON.stringify({
  blocks: [{ type: 'text', html: '<p>Hello {{ subscriber.first_name | default: "you" }}!</p>' }],
});
const trigger = { id: 'start', type: 'trigger', config: {} };
const mail = (id: string, subject = 'Hello') => ({ id, type: 'email', config: { subject, contentJson } });
const delay = (id: string, duration: string) => ({ id, type: 'delay', config: { duration } });
const edge = (source: string, target: string, branch?: string) => ({
  id: `${source}-${target}`,
  source,
  target,
  branch,
});
/** Steps one behind the other. */
const chain = (...nodes: readonly { readonly id: string }[]) => ({
  nodes: JSON.stringify(nodes),
  edges: JSON.stringify(nodes.slice(1).map((node, index) => edge(nodes[index]!.id, node.id))),
});

describe('automations over HTTP', () => {
  let system: System;
  let project: SystemProject;
  let client: ApiClient;
  let topicId: string;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    const topic = await client.post('/topics', { name: 'News', doubleOptInEnabled: false });
    topicId = topic.at('id');
    topicKey = topic.at('topicKey');
  });
  afterAll(() => system?.stop());

  async function create(fields: object = {}): Promise<ApiAnswer> {
    const created = await client.post('/automations', {
      name: 'Welcome',
      triggerType: 'subscriber_joins_list',
      triggerTopicId: topicId,
      ...fields,
    });
    expect(created.status).toBe(201);
    return created;
  }

  async function active(content: object, fields: object = {}): Promise<string> {
    const id = (await create(fields)).at('id');
    expect((await client.patch(`/automations/${id}/content`, content)).status).toBe(200);
    const activated = await client.post(`/automations/${id}/activate`);
    expect([activated.status, activated.at('checks')]).toEqual([200, undefined]);
    return id;
  }

  describe('their definition', () => {
    it('is made as a DRAFT, read by id and by key, listed newest first, and changed', async () => {
      const created = await create({ description: 'For the new ones' });
      expect(created.body).toEqual({
        id: expect.any(String),
        automationKey: expect.stringMatching(/^APIT-\d+$/),
        name: 'Welcome',
        description: 'For the new ones',
        metadata: {},
        status: 'DRAFT',
        triggerType: 'subscriber_joins_list',
        triggerTopicId: topicId,
        triggerTopicName: 'News',
        nodeCount: null,
        totalEntered: 0,
        totalCompleted: 0,
        currentlyActive: 0,
        nodes: null,
        edges: null,
        warnings: [],
        createdAt: expect.any(String),
        updatedAt: expect.any(String),
      });
      const [id, key] = [created.at('id'), created.at('automationKey')];
      expect(created.headers.get('location')).toBe(`/api/v1/automations/${id}`);
      expect((await client.get(`/automations/${id}`)).body).toEqual(created.body);
      expect((await client.get(`/automations/${key}`)).body).toEqual(created.body);
      const list = await client.get('/automations?size=1');
      expect([list.at('data', 0), list.at('pagination', 'totalElements')]).toEqual([created.body, 1]);
      expect((await client.patch(`/automations/${key}`, {})).body).toEqual(created.body);
      const changed = await client.patch(`/automations/${key}`, {
        name: 'Hello',
        description: null,
        triggerTopicId: null,
      });
      expect(changed.body).toMatchObject({
        name: 'Hello',
        description: null,
        triggerTopicId: null,
        triggerTopicName: null,
      });
      expect((await client.delete(`/automations/${id}`)).status).toBe(204);
      expect((await client.get(`/automations/${id}`)).status).toBe(404);
    });

    it('refuses what is malformed, unknown or not allowed', async () => {
      const refused = await client.post('/automations', {
        name: ' ',
        triggerType: 'noon',
        nodes: '[]',
        triggerTopicId: 'x',
      });
      expect([refused.status, Object.keys(refused.at<object>('errors')).sort()]).toEqual([
        400,
        ['name', 'nodes', 'triggerTopicId', 'triggerType'],
      ]);
      const unknown = await client.post('/automations', { name: 'x', triggerTopicId: STRANGE_ID });
      expect([unknown.status, unknown.at('errors')]).toEqual([
        422,
        { triggerTopicId: 'is not a known topic' },
      ]);
      for (const id of [STRANGE_ID, 'APIT-9999', 'nonsense'])
        expect((await client.get(`/automations/${id}`)).status).toBe(404);
    });

    it('takes an incomplete graph and refuses what is none, naming every fault', async () => {
      const id = (await create()).at('id');
      const draft = await client.patch(`/automations/${id}/content`, {
        nodes: JSON.stringify([{ id: 'wait', type: 'delay' }]),
        edges: '[]',
      });
      expect([draft.status, draft.at('nodeCount')]).toEqual([200, 1]);
      const refused = await client.patch(`/automations/${id}/content`, {
        nodes: JSON.stringify([trigger, { id: 'x', type: 'fax' }, { ...delay('x', 'P1D'), color: 'red' }]),
        edges: '{',
      });
      expect([refused.status, refused.at('errors')]).toEqual([
        422,
        {
          'nodes[1].type': expect.stringMatching(/^must be one of trigger, email/),
          'nodes[2].id': 'is used twice',
          'nodes[2].color': 'is not a known field',
          edges: 'is not valid JSON',
        },
      ]);
      const circle = await client.patch(`/automations/${id}/content`, {
        nodes: JSON.stringify([trigger, delay('a', 'P1D'), delay('b', 'P1D')]),
        edges: JSON.stringify([edge('start', 'a'), edge('a', 'b'), edge('b', 'a')]),
      });
      expect([circle.status, circle.at('errors')]).toEqual([
        422,
        { 'nodes[1]': 'is on a cycle', 'nodes[2]': 'is on a cycle' },
      ]);
      expect((await client.get(`/automations/${id}`)).at('nodes')).toBe(draft.at('nodes'));
    });

    it('refuses a graph that is no Unicode text, which could not be shown again as it was given', async () => {
      const id = (await create()).at('id');
      const refused = await client.patch(`/automations/${id}/content`, {
        nodes: '[{"id":"hello","type":"email","config":{"subject":"\ud800"}}]',
        edges: '[]',
      });
      expect([refused.status, refused.at('errors')]).toEqual([400, { nodes: 'is not valid Unicode' }]);
    });

    it('names all that is missing at once when it is activated', async () => {
      const id = (await create({ triggerType: 'segment_entered', triggerTopicId: null })).at('id');
      await client.patch(`/automations/${id}/content`, {
        nodes: JSON.stringify([
          trigger,
          delay('wait', 'three days'),
          {
            id: 'if',
            type: 'condition',
            config: { rules: { version: 1, where: { field: 'custom.none', op: 'eq', value: 1 } } },
          },
          mail('mail', 'Hi {{ subscriber.nickname }}'),
          delay('lost', 'P1D'),
          { id: 'sub', type: 'topic_action', config: { action: 'subscribe', topicKey: 'APIT-999' } },
        ]),
        edges: JSON.stringify([
          edge('start', 'wait'),
          edge('wait', 'if'),
          edge('if', 'mail', 'yes'),
          edge('if', 'sub', 'maybe'),
        ]),
      });
      const refused = await client.post(`/automations/${id}/activate`);
      expect([refused.status, refused.at('type')]).toEqual([409, expect.stringMatching(/invalid-state$/)]);
      expect(refused.body).toMatchObject({ currentState: 'DRAFT', allowedStates: ['DRAFT', 'PAUSED'] });
      const paths = refused
        .at<{ path: string; code: string }[]>('checks')
        .map(({ path, code }) => `${code} ${path}`);
      expect(paths.sort()).toEqual(
        [
          'trigger nodes[0].config.segmentKey',
          'delay nodes[1].config.duration',
          'condition nodes[2].config.rules.where.field',
          'graph nodes[2]',
          'email nodes[3].config.subject',
          'email nodes[3].config.topicKey',
          'graph nodes[4]',
          'topic_action nodes[5].config.topicKey',
          'graph edges[3].branch',
        ].sort(),
      );
      expect((await client.get(`/automations/${id}`)).at('status')).toBe('DRAFT');
    });

    it('goes from DRAFT to ACTIVE to PAUSED and back, and ends as ARCHIVED', async () => {
      const id = await active(chain(trigger, mail('hello')));
      const at = (path: string) => `/automations/${id}${path}`;
      const refusedWhileActive = await Promise.all([
        client.post(at('/activate')),
        client.delete(at('')),
        client.patch(at('/content'), chain(trigger)),
        client.patch(at(''), { triggerType: 'manual' }),
        client.patch(at(''), { status: 'ARCHIVED' }),
        client.patch(at(''), { status: 'DRAFT' }),
      ]);
      expect(refusedWhileActive.map(({ status }) => status)).toEqual([409, 409, 409, 409, 409, 409]);
      expect(refusedWhileActive[2]?.body).toMatchObject({
        currentState: 'ACTIVE',
        allowedStates: ['DRAFT', 'PAUSED'],
      });
      const inUse = await client.delete(`/topics/${topicKey}`);
      expect([inUse.status, inUse.at('type')]).toEqual([409, expect.stringMatching(/in-use$/)]);
      expect((await client.patch(at(''), { name: 'Renamed' })).at('status')).toBe('ACTIVE');
      expect((await client.patch(at(''), { status: 'PAUSED' })).at('status')).toBe('PAUSED');
      expect((await client.post(at('/pause'))).status).toBe(409);
      expect((await client.patch(at(''), { status: 'ACTIVE' })).at('status')).toBe('ACTIVE');
      expect((await client.post(at('/pause'))).at('status')).toBe('PAUSED');
      expect((await client.patch(at(''), { status: 'ARCHIVED' })).at('status')).toBe('ARCHIVED');
      expect((await client.post(at('/activate'))).status).toBe(409);
      expect((await client.delete(at(''))).status).toBe(204);
    });
  });

  describe('their people', () => {
    let people = 0;

    async function person(fields: object = {}): Promise<string> {
      const email = `person${(people += 1)}@example.com`;
      const created = await client.post('/subscribers', { email, firstName: 'Ada', ...fields });
      expect(created.status).toBe(201);
      return email;
    }

    const subscribed = () => person({ topicKeys: [topicKey], consent: { source: 'form' } });

    interface Execution {
      readonly id: string;
      readonly email: string;
      readonly status: string;
      readonly currentNodeId: string | null;
      readonly steps: readonly {
        readonly nodeId: string;
        readonly status: string;
        readonly detail: string | null;
      }[];
    }

    const executions = async (id: string): Promise<readonly Execution[]> =>
      (await client.get(`/automations/${id}/executions?size=100`)).at<Execution[]>('data');

    const ended = (id: string, email: string) =>
      eventually(`the run of ${email} has ended`, async () => {
        const execution = (await executions(id)).find((each) => each.email === email);
        return execution?.status !== 'ACTIVE' && execution;
      });

    const mailsTo = async (email: string): Promise<Record<string, never>[]> =>
      (await client.get(`/test-inbox/messages?kind=AUTOMATION&to=${encodeURIComponent(email)}`)).at('data');

    it('come in when they join the topic, wait, and get their mails', async () => {
      const id = await active(
        chain(
          trigger,
          mail('hello', 'Hello {{ subscriber.first_name }}'),
          delay('wait', 'PT1S'),
          mail('bye', 'Bye'),
        ),
      );
      const email = await subscribed();
      const execution = await ended(id, email);
      expect(execution).toMatchObject({ email, status: 'COMPLETED', currentNodeId: null });
      expect(execution.steps.map(({ nodeId, status }) => `${nodeId} ${status}`)).toEqual([
        'start DONE',
        'hello DONE',
        'wait DONE',
        'bye DONE',
      ]);
      const mails = await eventually('both mails', async () => {
        const found = await mailsTo(email);
        return found.length === 2 && found;
      });
      expect(new Set(mails.map(({ subject }) => subject))).toEqual(new Set(['Bye', 'Hello Ada']));
      expect((await client.get(`/automations/${id}`)).body).toMatchObject({
        totalEntered: 1,
        totalCompleted: 1,
        currentlyActive: 0,
      });
      // The unsubscribe link of the mail takes the person off the topic.
      const { unsubscribe } = mails[0]!['links'] as unknown as Record<string, string>;
      expect(
        (
          await fetch(unsubscribe!, {
            method: 'POST',
            body: new URLSearchParams({ 'List-Unsubscribe': 'One-Click' }),
          })
        ).status,
      ).toBe(200);
      const consents = await client.get(`/subscribers/${encodeURIComponent(email)}/consents`);
      expect(consents.at('consents', 0, 'status')).toBe('UNSUBSCRIBED');
      const view = (mails[0]!['links'] as unknown as Record<string, string>)['view']!;
      expect(await (await fetch(view)).text()).toContain('Hello Ada!');
      const report = await client.get(`/automations/${id}/report`);
      const runs = { entered: 1, active: 0, completed: 1, converted: 0, failed: 0, cancelled: 0 };
      expect(report.body).toMatchObject({
        automationId: id,
        totals: { ...runs, sent: 2, delivered: 2, uniqueOpens: 0, uniqueClicks: 0, unsubscribed: 1 },
        nodes: [
          { nodeId: 'start', type: 'trigger', isCurrent: true, entered: 1, left: 1, sent: 0, links: [] },
          { nodeId: 'hello', type: 'email', entered: 1, left: 1, sent: 1, delivered: 1 },
          { nodeId: 'wait', type: 'delay', entered: 1, left: 1, sent: 0 },
          { nodeId: 'bye', type: 'email', entered: 1, left: 1, sent: 1, delivered: 1 },
        ],
      });
      expect((await client.get(`/automations/${STRANGE_ID}/report`)).status).toBe(404);
    });

    it('tell by node what became of their mails, with the links as their author wrote them', async () => {
      const url = 'https://acme.example/offer?utm_source=mail&utm_campaign=a%20b';
      const withLink = JSON.stringify({ blocks: [{ type: 'button', label: 'Offer', url }] });
      const offer = { id: 'offer', type: 'email', config: { subject: 'Offer', contentJson: withLink } };
      // A topic of no other automation, by whose mails they could leave before.
      const alone = await client.post('/topics', { name: 'Offers', doubleOptInEnabled: false });
      const manual = { triggerType: 'manual', triggerTopicId: alone.at('id') };
      const id = await active(chain(trigger, offer), manual);
      for (const does of ['opened', 'clicked', 'bounced', 'unsubscribed']) {
        const email = `${does}+${id}@example.com`;
        const known = { email, topicKeys: [alone.at('topicKey')], consent: { source: 'API' } };
        expect((await client.post('/subscribers', known)).status).toBe(201);
        expect((await client.post(`/automations/${id}/executions`, { email })).status).toBe(202);
      }
      const told: unknown[] = [];
      await eventually(
        () => `all did what they do: ${JSON.stringify(told.at(-1))}`,
        async () => {
          const { nodes } = (await client.get(`/automations/${id}/report`)).body as {
            readonly nodes: readonly Readonly<Record<string, unknown>>[];
          };
          told.push(nodes[1]);
          const { delivered, uniqueOpens, unsubscribed } = nodes[1]!;
          return delivered === 3 && uniqueOpens === 2 && unsubscribed === 1;
        },
      );
      expect(told.at(-1)).toEqual({
        nodeId: 'offer',
        type: 'email',
        isCurrent: true,
        entered: 4,
        left: 4,
        sent: 4,
        delivered: 3,
        uniqueOpens: 2,
        uniqueClicks: 1,
        unsubscribed: 1,
        links: [{ url, linkNumber: 1, locale: null, clicks: 1, uniqueClicks: 1 }],
      });
    });

    it('are made of templates by the operator, as drafts that can be activated', async () => {
      const variables = { ...system.variables, PATH: process.env['PATH'] ?? '' };
      const { templates } = await runCliForJson(variables, ['automation:templates']);
      const names = (templates as readonly { readonly template: string }[]).map(({ template }) => template);
      expect(names).toEqual(['birthday', 'onboarding', 're-engagement', 'welcome', 'win-back']);
      const topic = await client.post('/topics', { name: 'Templates', doubleOptInEnabled: false });
      const install = [
        'automation:install',
        '--project',
        project.name,
        '--env',
        'test',
        '--topic',
        topic.at('topicKey'),
      ];
      const made = await runCliForJson(variables, [...install, '--template', 'birthday']);
      expect(made).toMatchObject({ customFields: ['birthday'] });
      const path = `/automations/${String(made['automationKey'])}`;
      expect((await client.get(path)).body).toMatchObject({ status: 'DRAFT', name: 'Birthday' });
      expect((await client.get(`/segments/${String(made['segmentKey'])}`)).status).toBe(200);
      expect((await client.post(`${path}/activate`)).body).toMatchObject({ status: 'ACTIVE' });
      const unknown = await runCli(variables, [...install, '--template', 'wellcome']);
      expect(unknown.exitCode).toBe(2);
      expect(unknown.stderr).toContain('--template must be one of birthday, onboarding');
    });

    it('are counted as they went, and webhooks are signed with a secret that the operator can print', async () => {
      const variables = { ...system.variables, PATH: process.env['PATH'] ?? '' };
      expect(await runCliForJson(variables, ['check:automations'])).toEqual({ discrepancies: [] });
      const miscount = (by: number) =>
        system.database.query(
          'update messaging.automation_counters set entered = entered + $1 where environment_id = $2',
          [by, project.test.environmentId],
        );
      await miscount(1);
      await expect(runCliForJson(variables, ['check:automations'])).rejects.toThrow(/discrepancies/);
      await miscount(-1);
      const secretOf = (env: string) =>
        runCliForJson(variables, ['automation:secret', '--project', project.name, '--env', env]);
      const { secret } = await secretOf('test');
      expect(secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
      expect([
        (await secretOf('test'))['secret'] === secret,
        (await secretOf('live'))['secret'] === secret,
      ]).toEqual([true, false]);
    });

    it('show the event that began the run in its mails, and say which paths no event had', async () => {
      const shop = await (await system.project('SHOP')).client('TEST');
      const topic = await shop.post('/topics', { name: 'Orders', doubleOptInEnabled: false });
      const ada = 'ada@orders.example';
      await shop.post('/subscribers', {
        email: ada,
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
      const report = (properties: object) =>
        shop.post('/subscriber-events/batch', { events: [{ email: ada, name: 'order', properties }] });
      await report({ total: 10, items: [] });
      const document = {
        blocks: [
          {
            type: 'text',
            html:
              '<p>Total {{ event.total }} to {{ event.ship.city | default: "you" }}{{ event.nothing }}:</p>' +
              '{% for item in event.items %}<p>{{ item.quantity }} × {{ item.sku }}</p>{% endfor %}',
          },
        ],
      };
      const where = [{ property: 'total', op: 'gte', value: 50 }];
      const begin = { ...trigger, config: { eventName: 'order', where } };
      const subject = 'Order {{ event.number | default: "yours" }}';
      const thanks = {
        id: 'thanks',
        type: 'email',
        config: { subject, contentJson: JSON.stringify(document) },
      };
      const content = chain(begin, thanks);
      const fields = { name: 'Thanks', triggerType: 'custom_event', triggerTopicId: topic.at('id') };
      const id = (await shop.post('/automations', fields)).at('id');
      await shop.patch(`/automations/${id}/content`, content);
      const activated = await shop.post(`/automations/${id}/activate`);
      const named = activated.at<{ path: string; message: string }[]>('warnings');
      expect(named.map(({ path, message }) => [path, /event\.[\w.]+/.exec(message)?.[0]])).toEqual([
        ['nodes[1].config.subject', 'event.number'],
        ['nodes[1].config.contentJson.blocks[0].html', 'event.ship.city'],
        ['nodes[1].config.contentJson.blocks[0].html', 'event.nothing'],
      ]);

      await report({ total: 49, number: 'too small' });
      await report({
        total: 62.5,
        number: 1042,
        items: [
          { sku: 'A<1>', quantity: 2 },
          { sku: 'B2', quantity: 1 },
        ],
      });
      const inbox = await eventually('the mail of the order', async () => {
        const list = await shop.get(`/test-inbox/messages?to=${ada}`);
        return list.at<string | undefined>('data', 0, 'id') === undefined ? undefined : list;
      });
      expect(inbox.at('pagination', 'totalElements')).toBe(1);
      const message = await shop.get(`/test-inbox/messages/${inbox.at('data', 0, 'id')}`);
      expect(message.at('subject')).toBe('Order 1042');
      expect(message.at('html')).toContain('Total 62.5 to you:');
      expect(message.at('html')).toContain('2 × A&lt;1&gt;');
      expect(message.at('text')).toContain('1 × B2');
      const view = await (await fetch(message.at('links', 'view'))).text();
      expect(view).toContain('Total 62.5 to you:');
    });

    it('get a field updated by the event, and the executions say where a value did not fit', async () => {
      const shop = await (await system.project('UPDATES')).client('TEST');
      const topic = await shop.post('/topics', { name: 'Orders', doubleOptInEnabled: false });
      await shop.post('/custom-fields', { key: 'spent', displayName: 'Spent', type: 'DECIMAL' });
      const set = { id: 'set', type: 'update_field', config: { key: 'spent', value: '{{ event.total }}' } };
      const begin = { ...trigger, config: { eventName: 'order', reEntry: 'ALWAYS' } };
      const content = chain(begin, set);
      const fields = { name: 'Spent', triggerType: 'custom_event' };
      const id = (await shop.post('/automations', fields)).at('id');
      await shop.patch(`/automations/${id}/content`, content);
      expect((await shop.post(`/automations/${id}/activate`)).at('status')).toBe('ACTIVE');
      const inUse = await shop.delete('/custom-fields/spent');
      expect([inUse.status, inUse.at('usedBy', 0, 'kind')]).toEqual([409, 'automation']);
      const orders = { good: { total: 62.5 }, odd: { total: 'much' }, empty: {} };
      for (const [name, properties] of Object.entries(orders)) {
        const email = `${name}@updates.example`;
        const consent = { source: 'form' };
        await shop.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
        await shop.post(`/subscribers/${email}/events`, { name: 'order', properties });
      }
      const listed = await eventually('three steps', async () => {
        const all = (await shop.get(`/automations/${id}`)).at<number>('totalCompleted') === 3;
        return all ? await shop.get(`/automations/${id}/executions`) : undefined;
      });
      const told = listed
        .at<{ email: string; steps: { status: string; detail: string }[] }[]>('data')
        .map(({ email, steps }) => `${email} ${steps[1]?.status}: ${steps[1]?.detail}`);
      expect(told.toSorted()).toEqual([
        'empty@updates.example FAILED: spent: {{ event.total }} is empty',
        'good@updates.example DONE: changed',
        'odd@updates.example FAILED: spent must be a number',
      ]);
      const good = await shop.get('/subscribers/good@updates.example');
      expect(good.at('customFields')).toEqual({ spent: 62.5 });
      expect((await shop.get('/subscribers/odd@updates.example')).at('customFields')).toEqual({});
    });

    it('wait for an event that is like that, and go on within seconds, or by the other branch in the end', async () => {
      const shop = await (await system.project('WAITS')).client('TEST');
      const topic = await shop.post('/topics', { name: 'Carts', doubleOptInEnabled: false });
      const where = [{ property: 'total', op: 'gte', value: 50 }];
      const wait = (timeout: string) => ({
        id: 'paid',
        type: 'wait_for',
        config: { event: { type: 'CUSTOM', name: 'order', where }, timeout },
      });
      const waiting = async (timeout: string, edges: readonly object[]) => {
        const id = (await shop.post('/automations', { name: timeout, triggerType: 'manual' })).at('id');
        const nodes = [trigger, wait(timeout), delay('thanks', 'P1D'), delay('remind', 'P1D')];
        const content = { nodes: JSON.stringify(nodes), edges: JSON.stringify(edges) };
        expect((await shop.patch(`/automations/${id}/content`, content)).status).toBe(200);
        return id;
      };
      const edges = [
        edge('start', 'paid'),
        edge('paid', 'thanks', 'happened'),
        edge('paid', 'remind', 'timeout'),
      ];
      const half = await waiting('P3D', edges.slice(0, 2));
      const refused = await shop.post(`/automations/${half}/activate`);
      expect(refused.status).toBe(409);
      expect(refused.text).toContain('nodes[1] needs an edge for the branch timeout.');
      const [long, short] = [await waiting('P3D', edges), await waiting('PT1S', edges)];
      const [paying, other] = ['paying@waits.example', 'other@waits.example'];
      for (const id of [long, short])
        expect((await shop.post(`/automations/${id}/activate`)).at('status')).toBe('ACTIVE');
      for (const email of [paying, other]) {
        const consent = { source: 'form' };
        await shop.post('/subscribers', { email, topicKeys: [topic.at('topicKey')], consent });
        expect((await shop.post(`/automations/${long}/executions`, { email })).status).toBe(202);
      }
      await shop.post(`/automations/${short}/executions`, { email: other });
      const node = async (id: string, email: string) => {
        const all = await shop.get(`/automations/${id}/executions`);
        const found = all
          .at<{ email: string; currentNodeId: string; steps: { detail: string }[] }[]>('data')
          .find((one) => one.email === email);
        return found === undefined ? 'none' : `${found.currentNodeId}, ${found.steps[1]?.detail}`;
      };
      const untilAt = (id: string, email: string, wanted: RegExp) =>
        eventually(`${email} at ${wanted}`, async () => wanted.test(await node(id, email)));
      await untilAt(long, paying, /^paid, until 2/);
      await untilAt(short, other, /^remind, timeout$/);
      const report = (email: string, total: number) => ({ email, name: 'order', properties: { total } });
      const events = [report(paying, 62.5), report(other, 49)];
      expect((await shop.post('/subscriber-events/batch', { events })).at('accepted')).toBe(2);
      await untilAt(long, paying, /^thanks, happened$/);
      expect(await node(long, other)).toMatch(/^paid, until 2/);
    });
  });
});
