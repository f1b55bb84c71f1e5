import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { expectProblem } from '#testing/http/problems';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

const page = (words: string) =>
  `<html><body><p>${words} {{ subscriber.first_name }}, {{ event.plan | default: "none" }}</p><p><a href="https://acme.example/${words}">Look</a></p></body></html>`;
const TEMPLATE = {
  name: 'Welcome',
  kind: 'CAMPAIGN',
  subject: 'Welcome',
  html: page('First'),
  translations: { de: { subject: 'Willkommen', html: page('Erster') } },
};

describe('automations of templates', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;
  let topicKey: string;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('TEST');
    topicKey = (await client.post('/topics', { name: 'News', doubleOptInEnabled: false })).at('topicKey');
  });
  afterAll(() => system?.stop());

  const accepted = (answer: ApiAnswer, status: number): ApiAnswer => {
    expect({ status: answer.status, text: answer.text }).toMatchObject({ status });
    return answer;
  };
  const publish = async (key: string, changes: object = {}) => {
    accepted(await client.patch(`/templates/${key}`, changes), 200);
    accepted(await client.post(`/templates/${key}/publish`, {}), 200);
  };
  async function published(body: object): Promise<string> {
    const key: string = accepted(await client.post('/templates', body), 201).at('templateKey');
    await publish(key);
    return key;
  }
  /** People wait for an order before they get the mail. */
  async function automation(config: object): Promise<string> {
    const nodes = [
      { id: 'start', type: 'trigger', config: {} },
      {
        id: 'ordered',
        type: 'wait_for',
        config: { event: { type: 'CUSTOM', name: 'order' }, timeout: 'P1D' },
      },
      { id: 'mail', type: 'email', config: { topicKey, ...config } },
    ];
    const edges = [
      { id: 'a', source: 'start', target: 'ordered' },
      { id: 'b', source: 'ordered', target: 'mail', branch: 'happened' },
      { id: 'c', source: 'ordered', target: 'mail', branch: 'timeout' },
    ];
    const id: string = accepted(
      await client.post('/automations', { name: 'Welcome', triggerType: 'manual' }),
      201,
    ).at('automationKey');
    accepted(
      await client.patch(`/automations/${id}/content`, {
        nodes: JSON.stringify(nodes),
        edges: JSON.stringify(edges),
      }),
      200,
    );
    return id;
  }
  const activated = async (config: object) => {
    const id = await automation(config);
    accepted(await client.post(`/automations/${id}/activate`), 200);
    return id;
  };
  async function person(email: string, locale: string | null = null) {
    const consent = { source: 'form' };
    const body = { email, locale, firstName: 'Ada', topicKeys: [topicKey], consent };
    accepted(await client.post('/subscribers', body), 201);
  }
  const enter = async (id: string, email: string) =>
    accepted(await client.post(`/automations/${id}/executions`, { email, data: { plan: 'pro' } }), 202);
  const orders = async (email: string) =>
    accepted(await client.post(`/subscribers/${email}/events`, { name: 'order' }), 202);
  async function mailsTo(email: string, count: number) {
    const ids = await eventually(`${count} mails to ${email}`, async () => {
      const list = await client.get(`/test-inbox/messages?kind=AUTOMATION&to=${email}`);
      const found = list.at<{ id: string }[]>('data');
      return found.length >= count ? found.map(({ id }) => id) : null;
    });
    return Promise.all(
      ids.map(async (id) => (await client.get(`/test-inbox/messages/${id}`)).body),
    ) as Promise<{ subject: string; html: string; links: { view: string } }[]>;
  }
  const isWaiting = (id: string, count: number) =>
    eventually('the runs wait', async () => {
      const { data } = (await client.get(`/automations/${id}/executions`)).body as {
        data: { steps: { nodeId: string; status: string }[] }[];
      };
      // A run is at the node before it waits there.
      return data.filter(({ steps }) => steps.some(({ status }) => status === 'WAITING')).length === count;
    });

  it('send people what was in use when they came in, in their language', async () => {
    const key = await published({ ...TEMPLATE, alias: 'welcome' });
    const id = await activated({ templateKey: 'welcome' });
    const pinned = await activated({ templateKey: key, templateVersion: 1, subject: 'Pinned' });
    await person('ada@example.com');
    await person('bea@example.com', 'de-AT');
    await person('eve@example.com');
    await enter(id, 'ada@example.com');
    await enter(id, 'bea@example.com');
    await isWaiting(id, 2);
    accepted(await client.patch(`/templates/${key}`, { html: page('Second') }), 200);
    await publish(key);
    await enter(id, 'eve@example.com');
    await isWaiting(id, 3);
    await enter(pinned, 'eve@example.com');
    await isWaiting(pinned, 1);
    for (const email of ['ada@example.com', 'bea@example.com', 'eve@example.com']) await orders(email);
    const [first] = await mailsTo('ada@example.com', 1);
    expect(first).toMatchObject({ subject: 'Welcome', html: expect.stringContaining('First Ada, pro') });
    const [german] = await mailsTo('bea@example.com', 1);
    expect(german).toMatchObject({
      subject: 'Willkommen',
      html: expect.stringContaining('Erster Ada, pro'),
    });
    const both = await mailsTo('eve@example.com', 2);
    expect(new Map(both.map(({ subject, html }) => [subject, html]))).toEqual(
      new Map([
        ['Welcome', expect.stringContaining('Second Ada, pro')],
        ['Pinned', expect.stringContaining('First Ada, pro')],
      ]),
    );
    await publish(key, { html: page('Third') });
    expect(await (await fetch(first!.links.view)).text()).toContain('First Ada, pro');
    expect(await (await fetch(german!.links.view)).text()).toContain('Erster Ada, pro');
    expectProblem(await client.delete(`/templates/${key}`), 409, 'in-use', {
      usedBy: [
        { kind: 'automation', key: id, name: 'Welcome' },
        { kind: 'automation', key: pinned, name: 'Welcome' },
      ],
      usedByCount: 2,
    });
  });

  it('keep the custom fields of what those inside will get', async () => {
    const field = { key: 'tier', displayName: 'Tier', type: 'TEXT' };
    accepted(await client.post('/custom-fields', field), 201);
    const key = await published({
      ...TEMPLATE,
      html: '<html><body><p>Tier {{ custom.tier | default: "none" }}</p></body></html>',
    });
    const id = await activated({ templateKey: key });
    await person('tia@example.com');
    await enter(id, 'tia@example.com');
    await isWaiting(id, 1);
    await publish(key, { html: page('Plain') });
    const usedBy = [{ kind: 'automation', key: id, name: 'Welcome' }];
    expectProblem(await client.delete('/custom-fields/tier'), 409, 'in-use', { usedBy, usedByCount: 1 });
    await orders('tia@example.com');
    const [mail] = await mailsTo('tia@example.com', 1);
    expect(mail?.html).toContain('Tier none');
    await isWaiting(id, 0);
    accepted(await client.delete('/custom-fields/tier'), 204);
  });

  it('are activated with a template that has content for them alone', async () => {
    const draft: string = (await client.post('/templates', TEMPLATE)).at('templateKey');
    const faultsOf = async (config: object) => {
      const answer = await client.post(`/automations/${await automation(config)}/activate`);
      expect(answer.status).toBe(409);
      return answer.at<{ message: string }[]>('checks').map(({ message }) => message);
    };
    expect(await faultsOf({ templateKey: draft })).toEqual([
      'nodes[2].config.templateKey is no template that is published.',
    ]);
    expect(await faultsOf({ templateKey: draft, contentJson: { blocks: [] }, contentText: 'a' })).toEqual(
      expect.arrayContaining([
        'nodes[2].config.contentJson must not be given together with templateKey.',
        'nodes[2].config.contentText must not be given together with templateKey.',
      ]),
    );
    const key = await published(TEMPLATE);
    expect(await faultsOf({ templateKey: key, templateVersion: 7 })).toEqual([
      `nodes[2].config.templateVersion is no version of the template ${key}.`,
    ]);
    expect(await faultsOf({ templateKey: key, templateVersion: 1.5 })).toEqual([
      'nodes[2].config.templateVersion must be an integer from 1.',
    ]);
    const message = await published({
      name: 'Receipt',
      kind: 'MESSAGE',
      purpose: 'An order',
      subject: 'a',
      html: '<p>a</p>',
    });
    expect(await faultsOf({ templateKey: message })).toEqual([
      'nodes[2].config.templateKey is a template of kind MESSAGE: campaigns and automations need one of kind CAMPAIGN.',
    ]);
    const lossy = await published({
      ...TEMPLATE,
      html: `<script>alert(1)</script>${page('First')}`,
      translations: {},
    });
    const warned = await client.post(`/automations/${await automation({ templateKey: lossy })}/activate`);
    expect(warned.at<{ path: string }[]>('warnings').map(({ path }) => path)).toContain(
      'nodes[2].config.templateKey',
    );
  });
});
