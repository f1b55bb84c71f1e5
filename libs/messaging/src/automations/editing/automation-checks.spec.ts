import { TopicsService } from '#audience';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  AutomationsFixture,
  chain,
  contentJson,
  delay,
  mail,
  rules,
  trigger,
} from '../automations.fixture.js';
import { type AutomationFields, IncompleteAutomationError } from '../automation.js';

const text = (html: string) => ({ blocks: [{ type: 'text', html }] });

let fixture: AutomationsFixture;

beforeAll(async () => {
  fixture = await AutomationsFixture.open();
});
afterAll(() => fixture?.close());

describe('an automation that cannot be activated', () => {
  /** Faults by their path. */
  async function faults(
    content: { readonly nodes: string; readonly edges: string } | null,
    fields: Partial<AutomationFields> = {},
  ): Promise<Readonly<Record<string, string>>> {
    const { id } = await fixture.automations.create(fixture.scope, {
      name: 'Welcome',
      description: null,
      triggerType: 'manual',
      triggerTopicId: fixture.topic.id,
      ...fields,
    });
    if (content !== null) await fixture.automations.replaceContent(fixture.scope, id, content);
    try {
      await fixture.automations.activate(fixture.scope, id);
      return {};
    } catch (error) {
      if (!(error instanceof IncompleteAutomationError)) throw error;
      return Object.fromEntries(
        error.checks.map(({ path, message }) => [path, message.slice(path.length + 1, -1)]),
      );
    }
  }

  /** Below the config of the one step. */
  async function stepFaults(type: string, config: object, fields: Partial<AutomationFields> = {}) {
    const found = await faults(chain(trigger(), { id: 'step', type, config }), fields);
    return Object.fromEntries(
      Object.entries(found).map(([path, fault]) => [path.replace('nodes[1].config.', ''), fault]),
    );
  }

  it('names what its trigger lacks beside its steps', async () => {
    expect(await faults(null, { triggerType: null })).toEqual({
      nodes: 'is required',
      triggerType: 'is required',
    });
    expect(await faults(null, { triggerType: 'subscriber_joins_list', triggerTopicId: null })).toEqual({
      nodes: 'is required',
      triggerTopicId: 'is required for subscriber_joins_list',
    });
  });

  it('names what is wrong with the exit and the properties that its trigger asks for', async () => {
    const exitWhen = rules({ field: 'custom.nope', op: 'exists' });
    const where = [{ property: 'items[0]', op: 'exists' }];
    expect(await faults(chain(trigger({ exitWhen, where })))).toEqual({
      'nodes[0].config.exitWhen.where.field': 'is not a known field',
      'nodes[0].config.where[0].property': expect.stringMatching(/^must be names with dots/),
    });
    const sound = [{ property: 'total', op: 'exists' }];
    expect(await faults(chain(trigger({ where: sound })))).toEqual({
      'nodes[0].config.where': 'must only be used with custom_event',
    });
  });

  it('names merge tags of a webhook that are not in its body', async () => {
    const config = {
      url: 'https://8.8.8.8/{{ event.id }}',
      headers: { 'X-Order': '{{ event.id }}', 'X-Shop': 'acme' },
      body: { id: '{{ event.id }}' },
    };
    const fault = 'has a merge tag, which only body may have';
    expect(await stepFaults('webhook', config)).toMatchObject({ url: fault, 'headers.X-Order': fault });
  });

  it('names webhooks that lead to no public address', async () => {
    const refused = {
      url: expect.stringMatching(/^must lead to a public address; .*OUTGOING_PRIVATE_ADDRESSES$/),
    };
    for (const host of ['[::a00:1]', '168.63.129.16', '[2002:7f00:1::]', '[64:ff9b::a00:1]', '10.1.2.3'])
      expect(await stepFaults('webhook', { url: `https://${host}/` })).toMatchObject(refused);
    expect(await stepFaults('webhook', { url: 'https://8.8.8.8/' })).not.toHaveProperty('url');
  });

  it('names merge tags that are not closed where they are', async () => {
    const part = (fault: string) => expect.stringMatching(fault);
    expect(
      await stepFaults('email', { subject: 'x', contentJson: text('Hi {{ subscriber.first_name') }),
    ).toEqual({
      contentJson: part('not closed'),
    });
    for (const [form, page] of [
      ['html', '<html><body><p>{{ custom.unheard }}</p></body></html>'],
      [
        'mjml',
        '<mjml><mj-body><mj-section><mj-column><mj-text>{{ custom.unheard }}</mj-text></mj-column></mj-section></mj-body></mjml>',
      ],
    ] as const)
      expect(
        await stepFaults('email', { subject: 'x', contentJson: JSON.stringify({ [form]: page }) }),
      ).toEqual({ [form]: 'has {{ custom.unheard }}, which is not known' });
    expect(
      await stepFaults('email', {
        subject: 'Hi {{',
        fromName: 'Acme for {{ subscriber.frist_name }}',
        previewText: '{%',
        contentText: '{{ subscriber.first_name',
        contentJson: text('{{ custom.unheard }}'),
      }),
    ).toEqual({
      subject: part('not closed'),
      fromName: 'has {{ subscriber.frist_name }}, which is not known',
      previewText: part('not closed'),
      contentText: part('not closed'),
      contentJson: 'has {{ custom.unheard }}, which is not known',
    });
  });

  it.each([
    [{}, { key: 'is required', value: 'is required: null clears the field' }],
    [{ key: 'nope', value: 1 }, { key: expect.stringMatching(/^is not a known custom field/) }],
    [{ key: 'email', value: 'a@b.example' }, { key: expect.stringMatching(/^is not a known custom field/) }],
    [{ key: 'subscriber.external_id', value: 'x' }, { key: expect.stringMatching(/^is not a known/) }],
    [{ key: 'first_name', value: '' }, { value: 'must not be empty: null clears the field' }],
    [{ key: 'first_name', value: { a: 1 } }, { value: expect.stringMatching(/^must be text, a number/) }],
    [{ key: 'first_name', value: 'x'.repeat(51) }, { value: 'must be at most 50 characters' }],
    [{ key: 'first_name', value: '{{ event.name' }, { value: expect.stringMatching('not closed') }],
    [
      { key: 'first_name', value: '{% if event.name %}{{ event.name }}{% endif %}' },
      { value: 'may only have merge tags such as {{ event.total | default: 0 }}' },
    ],
    [
      { key: 'first_name', value: '{{ custom.nope }}' },
      { value: 'has {{ custom.nope }}, which is not known' },
    ],
    [
      { key: 'first_name', value: '{{ topic.name }}' },
      { value: 'has {{ topic.name }}, but only subscriber, custom and event are known here' },
    ],
    [{ key: 'first_name', value: '{{ event.name }}', more: 1 }, { more: 'is not a known field' }],
  ])('names what is wrong with an update of a field: %j', async (config, expected) => {
    expect(await stepFaults('update_field', config)).toEqual(expected);
  });

  it.each([
    [{}, { timeout: 'is required', event: 'is required where there are no rules' }],
    [
      { event: { name: 'order' }, rules: rules({ field: 'phone', op: 'exists' }), timeout: 'P3D' },
      { rules: 'must be left out beside event' },
    ],
    [{ event: { name: 'order' }, timeout: 'P731D' }, { timeout: 'must be at most P730D' }],
    [{ event: { name: 'order' }, timeout: 'P0D' }, { timeout: 'must be longer than zero' }],
    [
      { event: { name: 'order' }, timeout: '3 days' },
      { timeout: expect.stringMatching(/^must be an ISO 8601/) },
    ],
    [{ event: { type: 'CUSTOM' }, timeout: 'P3D' }, { 'event.name': 'is required' }],
    [{ event: { name: 'Order' }, timeout: 'P3D' }, { 'event.name': 'must be like order.completed' }],
    [
      { event: { type: 'OPENED', name: 'order' }, timeout: 'P3D' },
      { 'event.type': 'must be CUSTOM: events of mails can be named in rules' },
    ],
    [
      { event: { name: 'order', where: [{ property: 'total', op: 'above', value: 1 }] }, timeout: 'P3D' },
      { 'event.where[0].op': expect.stringMatching(/^must be one of/) },
    ],
    [
      { rules: rules({ field: 'custom.nope', op: 'exists' }), timeout: 'P3D' },
      { 'rules.where.field': 'is not a known field' },
    ],
  ])('names what is wrong with a step that waits: %j', async (config, expected) => {
    const branches = { 'nodes[1]': 'needs an edge for the branch happened' };
    expect(await stepFaults('wait_for', config)).toEqual({ ...branches, ...expected });
  });

  it('has a subject of more than 500 characters, whatever they take', async () => {
    expect(await stepFaults('email', { subject: '\u{1F600}'.repeat(500), contentJson })).toEqual({});
    expect(await stepFaults('email', { subject: '\u{1F600}'.repeat(501), contentJson })).toEqual({
      subject: 'must be at most 500 characters',
    });
  });

  it('names all faults of a step at once, also those of what it refers to', async () => {
    const noTopic = { triggerTopicId: null };
    expect(
      await stepFaults('email', { contentJson: text('{{ nobody.knows }}'), topicKey: 'ACME-99' }),
    ).toEqual({
      subject: 'is required',
      contentJson: 'has {{ nobody.knows }}, which is not known',
      topicKey: 'is not a known topic',
    });
    expect(await stepFaults('email', { contentJson }, noTopic)).toEqual({
      subject: 'is required',
      topicKey: 'is required where the automation has no triggerTopicId',
    });
    expect(await stepFaults('goal', { rules: rules({ field: 'custom.nope', op: 'exists' }) })).toEqual({
      name: 'is required',
      'rules.where.field': 'is not a known field',
    });
    expect(await stepFaults('topic_action', { action: 'leave', topicKey: 'ACME-99' })).toEqual({
      action: 'must be one of subscribe, unsubscribe',
      topicKey: 'is not a known topic',
    });
    expect(await stepFaults('segment_action', { segmentKey: 'ACME-99' })).toEqual({
      action: 'is required',
      segmentKey: 'is not a known segment',
    });
    expect(
      await stepFaults('webhook', { url: 'ftp://example.com', body: { text: '{{ nobody.knows }}' } }),
    ).toEqual({
      url: 'must be an http or https URL',
      'body.text': 'has {{ nobody.knows }}, which is not known',
    });
    const start = trigger({ reEntry: 'NEVER', segmentKey: 'ACME-99' });
    expect(await faults(chain(start), { triggerType: 'segment_left' })).toEqual({
      'nodes[0].config.reEntry': 'must be one of ONCE, AFTER_EXIT, ALWAYS',
      'nodes[0].config.segmentKey': 'is not a known segment',
    });
    const named = trigger({ reEntry: 'NEVER', eventName: 'order.completed' });
    expect(await faults(chain(named), { triggerType: 'custom_event' })).toEqual({
      'nodes[0].config.reEntry': 'must be one of ONCE, AFTER_EXIT, ALWAYS',
    });
    const misnamed = trigger({ eventName: 'Order Completed' });
    expect(await faults(chain(misnamed), { triggerType: 'custom_event' })).toEqual({
      'nodes[0].config.eventName': 'must be like order.completed',
    });
    expect(await faults(chain(trigger({ reEntry: 'NEVER' })), { triggerType: 'custom_event' })).toEqual({
      'nodes[0].config.reEntry': 'must be one of ONCE, AFTER_EXIT, ALWAYS',
      'nodes[0].config.eventName': 'is required for custom_event',
    });
  });
});

describe('an active automation', () => {
  it('needs no edges when its trigger is its only step', async () => {
    const fields = { name: 'Alone', description: null, triggerType: 'manual', triggerTopicId: null } as const;
    const { id } = await fixture.automations.create(fixture.scope, fields);
    await fixture.automations.replaceContent(fixture.scope, id, { nodes: JSON.stringify([trigger()]) });
    expect(await fixture.automations.activate(fixture.scope, id)).toMatchObject({
      status: 'ACTIVE',
      edges: null,
    });
  });

  it('is for active topics only: nobody could join others, and no campaign goes to them', async () => {
    const { scope, messaging } = fixture;
    const topics = messaging.get(TopicsService);
    const { id: triggerTopicId, topicKey } = await topics.create(scope, { name: 'Old', status: 'INACTIVE' });
    const message = (path: string) => ({ path, message: `${path} is not an active topic.` });
    await expect(
      fixture.active(chain(trigger()), { triggerType: 'subscriber_joins_list', triggerTopicId }),
    ).rejects.toMatchObject({ checks: [message('triggerTopicId')] });
    await expect(fixture.active(chain(trigger(), mail('m', { topicKey })))).rejects.toMatchObject({
      checks: [message('nodes[1].config.topicKey')],
    });
    await topics.update(scope, topicKey, { status: 'ACTIVE' });
    await fixture.active(chain(trigger(), mail('m', { topicKey })));
  });

  it('keeps the topics that its rules ask for from being deleted', async () => {
    const { scope } = fixture;
    const topics = fixture.messaging.get(TopicsService);
    const make = async (name: string) => (await topics.create(scope, { name })).topicKey;
    const [asked, clicked] = [await make('Asked for'), await make('Clicked in')];
    const goal = (id: string, condition: object) => ({
      id,
      type: 'goal',
      config: { name: id, rules: rules(condition) },
    });
    const id = await fixture.active(
      chain(
        trigger(),
        goal('subscribed', { not: { consent: { topicKey: asked, status: ['SUBSCRIBED'] } } }),
        goal('reader', { event: { type: 'CLICKED', topicKey: clicked }, count: { op: 'gte', value: 1 } }),
      ),
    );
    const remove = (topicKey: string) => fixture.messaging.get(TopicsService).delete(scope, topicKey, null);
    for (const topicKey of [asked, clicked])
      await expect(remove(topicKey)).rejects.toEqual(expect.objectContaining({ code: 'in-use' }));
    await fixture.automations.pause(scope, id);
    await remove(asked);
  });

  it('names what its mails leave out when its steps are replaced and when it is activated, and nowhere else', async () => {
    const { scope, automations } = fixture;
    const { id } = await automations.create(scope, {
      name: 'Welcome',
      description: null,
      triggerType: 'manual',
      triggerTopicId: fixture.topic.id,
    });
    const html = '<p>Hello</p><form action="https://acme.example"></form><script>1</script>';
    const steps = chain(trigger(), mail('plain'), mail('lossy', { contentJson: JSON.stringify(text(html)) }));
    const path = 'nodes[2].config.contentJson.blocks[0].html';
    const warnings = ['<form>', '<script>'].map((piece) => {
      return { path, message: `${path} holds what no mail carries, so it is left out: ${piece}` };
    });
    expect((await automations.replaceContent(scope, id, steps)).warnings).toEqual(warnings);
    expect((await automations.replaceContent(scope, id, { edges: steps.edges })).warnings).toEqual(warnings);
    expect((await automations.activate(scope, id)).warnings).toEqual(warnings);
    expect((await automations.pause(scope, id)).warnings).toEqual([]);
    expect((await automations.update(scope, id, { status: 'ACTIVE' })).warnings).toEqual(warnings);
    expect((await automations.update(scope, id, { name: 'Hello' })).warnings).toEqual([]);
  });

  it('names a hundred pieces that its mails leave out, and says how many more there are', async () => {
    const { scope, automations } = fixture;
    const { id } = await automations.create(scope, {
      name: 'Welcome',
      description: null,
      triggerType: 'manual',
      triggerTopicId: fixture.topic.id,
    });
    const pieces = Array.from(
      { length: 60 },
      (_, index) => `<p style="position: fixed; x${index}: url(javascript:1)">x</p>`,
    );
    const lossy = { contentJson: JSON.stringify(text(pieces.join(''))) };
    const { warnings } = await automations.replaceContent(
      scope,
      id,
      chain(trigger(), mail('a', lossy), mail('b', { ...lossy, subject: 'b' })),
    );
    expect(warnings).toHaveLength(101);
    expect(warnings[100]).toEqual({
      path: 'nodes',
      message: expect.stringMatching(/^\d+ more pieces of mails are left out/),
    });
  });
});

describe('webhooks of automations of people who are not trusted with the network', () => {
  it.each([
    'http://localhost:9/',
    'http://127.0.0.1:9/',
    'http://[::ffff:10.0.0.1]/',
    'http://[::7f00:1]/',
    'http://169.254.169.254/latest/meta-data/',
  ])('are never to go to %s', async (url) => {
    const content = chain(trigger(), { id: 'hook', type: 'webhook', config: { url } });
    await expect(fixture.active(content)).rejects.toMatchObject({
      checks: [{ path: 'nodes[1].config.url', message: expect.stringContaining('public address') }],
    });
  });
});

describe('a plan without automations', () => {
  const include = (included: boolean) =>
    fixture.messaging.test.query(
      `update billing.plan_versions set limits = limits || jsonb_build_object('automationsEnabled', $1::boolean)
       where tier = 'FREE'`,
      [included],
    );
  const refused = expect.objectContaining({ errors: { plan: 'the plan does not include automations' } });
  const waiting = chain(trigger(), delay('wait', 'P1D'));

  it('lets none be made or activated; those that run go on, and can be paused', async () => {
    const running = await fixture.active(waiting);
    const resting = await fixture.active(waiting);
    await fixture.automations.pause(fixture.scope, resting);
    const { email } = await fixture.person();
    await fixture.enter(running, email);
    await include(false);
    const draft = { name: 'New', description: null, triggerType: null, triggerTopicId: null };
    await expect(fixture.automations.create(fixture.scope, draft)).rejects.toEqual(refused);
    await expect(fixture.automations.activate(fixture.scope, resting)).rejects.toEqual(refused);
    await expect(fixture.automations.update(fixture.scope, resting, { status: 'ACTIVE' })).rejects.toEqual(
      refused,
    );
    await fixture.later(24 * 3_600_000);
    expect(await fixture.totals(running)).toEqual([1, 1, 0]);
    await fixture.automations.pause(fixture.scope, running);

    await include(true);
    expect((await fixture.automations.activate(fixture.scope, resting)).status).toBe('ACTIVE');
  });
});
