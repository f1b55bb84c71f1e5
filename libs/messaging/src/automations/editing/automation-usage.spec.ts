import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { CustomFieldsService, SegmentsService, TopicsService } from '#audience';
import { InUseError } from '#kernel';
import { WebhookReceiver } from '#testing/servers/webhook-receiver';
import {
  AutomationsFixture,
  chain,
  delay,
  mail,
  type NodeSketch,
  trigger,
  where,
  ways,
} from '../automations.fixture.js';
import { IncompleteAutomationError } from '../automation.js';
import { AutomationsQuery } from '../automations.query.js';

const step = (type: string, config: object): NodeSketch => ({ id: type, type, config });
const condition = (field: string, value: unknown) => ({
  nodes: JSON.stringify([
    trigger(),
    step('condition', { rules: where(field, value) }),
    mail('gold'),
    mail('rest'),
  ]),
  edges: ways('start > condition', 'condition > gold: yes', 'condition > rest: no'),
});

describe('what an automation uses', () => {
  let fixture: AutomationsFixture;
  let receiver: WebhookReceiver;
  /** The key of a field of each test's own. */
  let key: string;
  let count = 0;

  beforeAll(async () => {
    receiver = await WebhookReceiver.open();
    fixture = await AutomationsFixture.open({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
  });
  afterAll(async () => {
    await fixture?.close();
    receiver?.close();
  });
  beforeEach(async () => {
    count += 1;
    key = `plan_${count}`;
    const options = ['gold', 'silver'].map((value) => ({ value, label: value }));
    const field = { key, displayName: 'Plan', type: 'SELECT', options, defaultValue: 'silver' } as const;
    await fixture.messaging.get(CustomFieldsService).create(fixture.scope, field);
  });

  const archive = () => fixture.messaging.get(CustomFieldsService).archive(fixture.scope, key);
  const archiveAsBefore = () =>
    fixture.messaging.test.query(
      `update audience.custom_fields set status = 'ARCHIVED', archived_at = now() where key = $1`,
      [key],
    );
  const clearDefault = () =>
    fixture.messaging.get(CustomFieldsService).updateConfig(fixture.scope, key, { defaultValue: null });
  const removeGold = () =>
    fixture.messaging
      .get(CustomFieldsService)
      .updateConfig(fixture.scope, key, { options: [{ value: 'silver', label: 'Silver' }] });
  const userOf = async (id: string) => {
    const { automationKey, name } = await fixture.messaging.get(AutomationsQuery).get(fixture.scope, id);
    return [{ kind: 'automation', key: automationKey, name }] as const;
  };

  it.each<[string, () => ReturnType<typeof chain>]>([
    ['the subject of a mail', () => chain(trigger(), mail('m', { subject: `{{ custom.${key} }}` }))],
    ['the preview text of a mail', () => chain(trigger(), mail('m', { previewText: `{{ custom.${key} }}` }))],
    ['the text of a mail', () => chain(trigger(), mail('m', { contentText: `Hi {{ custom.${key} }}` }))],
    [
      'the document of a mail',
      () =>
        chain(
          trigger(),
          mail('m', {
            contentJson: JSON.stringify({
              blocks: [{ type: 'heading', level: 1, text: `{{ custom.${key} }}` }],
            }),
          }),
        ),
    ],
    [
      "a webhook's body",
      () => chain(trigger(), step('webhook', { url: receiver.url, body: { plan: [`{{ custom.${key} }}`] } })),
    ],
    ['a condition', () => condition(`custom.${key}`, 'silver')],
    ['a goal', () => chain(trigger(), step('goal', { name: 'Pro', rules: where(`custom.${key}`, 'x') }))],
    [
      'rules that are waited for',
      () => ({
        nodes: JSON.stringify([
          trigger(),
          step('wait_for', { rules: where(`custom.${key}`, 'gold'), timeout: 'P1D' }),
          mail('m'),
        ]),
        edges: ways('start > wait_for', 'wait_for > m: happened', 'wait_for > m: timeout'),
      }),
    ],
    ['an update', () => chain(trigger(), step('update_field', { key, value: 'gold' }))],
    [
      'the value of another',
      () => chain(trigger(), step('update_field', { key: 'phone', value: `{{ custom.${key} }}` })),
    ],
    ['exitWhen', () => chain(trigger({ exitWhen: where(`custom.${key}`, 'x') }), mail('m'))],
  ])(
    'a custom field in %s cannot be archived while it is active, and the refusal names it',
    async (_, content) => {
      const id = await fixture.active(content());
      await expect(archive()).rejects.toThrow(new InUseError('The custom field', await userOf(id)));
      await fixture.automations.pause(fixture.scope, id);
      await archive();
      await expect(fixture.automations.activate(fixture.scope, id)).rejects.toThrow(
        IncompleteAutomationError,
      );
    },
  );

  it.each<[string, () => ReturnType<typeof chain>]>([
    ['a mail', () => chain(trigger(), mail('m', { subject: `{{ custom.${key} }}` }))],
    [
      "a webhook's body",
      () => chain(trigger(), step('webhook', { url: receiver.url, body: { plan: `{{ custom.${key} }}` } })),
    ],
  ])('a default that %s shows cannot be cleared while it is active', async (_, content) => {
    const id = await fixture.active(content());
    await expect(clearDefault()).rejects.toThrow(new InUseError(`The default of ${key}`, await userOf(id)));
    await fixture.automations.pause(fixture.scope, id);
    await clearDefault();
  });

  it('a default may be cleared under a condition, which sees no defaults', async () => {
    await fixture.active(condition(`custom.${key}`, 'GOLD'));
    expect(await clearDefault()).toMatchObject({ defaultValue: null });
  });

  it('an option that a condition names cannot be removed while it is active', async () => {
    const id = await fixture.active(condition(`custom.${key}`, 'GOLD'));
    await expect(removeGold()).rejects.toThrow(new InUseError('The option gold', await userOf(id)));
    await fixture.automations.pause(fixture.scope, id);
    await removeGold();
  });

  it('an option that a step sets cannot be removed while it is active', async () => {
    const id = await fixture.active(
      chain(trigger(), step('update_field', { key: `custom.${key}`, value: 'gold' })),
    );
    await expect(removeGold()).rejects.toThrow(new InUseError('The option gold', await userOf(id)));
    await fixture.automations.pause(fixture.scope, id);
    await removeGold();
  });

  it('stays while it is paused with somebody inside, who goes on later', async () => {
    const id = await fixture.active(
      chain(trigger(), delay('wait', 'P1D'), mail('m', { subject: `{{ custom.${key} }}` })),
    );
    const person = await fixture.person({ customFields: { [key]: 'gold' } });
    await fixture.enter(id, person.email);
    await fixture.run();
    await fixture.automations.pause(fixture.scope, id);
    await expect(archive()).rejects.toThrow(InUseError);
    await expect(
      fixture.messaging.get(TopicsService).delete(fixture.scope, fixture.topic.topicKey, null),
    ).rejects.toThrow(InUseError);
    await fixture.automations.activate(fixture.scope, id);
    await fixture.later(24 * 3_600_000);
    expect(await fixture.totals(id)).toEqual([1, 1, 0]);
    await fixture.automations.pause(fixture.scope, id);
    await archive();
  });

  it('topics and segments cannot be turned off under an active one, which would go on without anybody', async () => {
    const { messaging, scope } = fixture;
    const [topics, segments] = [messaging.get(TopicsService), messaging.get(SegmentsService)];
    const topic = await topics.create(scope, { name: 'Pro' });
    const segment = await segments.create(scope, {
      name: 'Pros',
      rules: JSON.stringify(where('email', 'x')),
    });
    const list = await segments.create(scope, { name: 'List' });
    const id = await fixture.active(
      chain(
        trigger({ segmentKey: segment.segmentKey }),
        step('topic_action', { action: 'subscribe', topicKey: topic.topicKey }),
        step('segment_action', { action: 'add', segmentKey: list.segmentKey }),
      ),
      { triggerType: 'segment_entered', triggerTopicId: null },
    );
    const users = await userOf(id);
    const turnOff = [
      () => topics.update(scope, topic.topicKey, { status: 'INACTIVE' }),
      () => segments.update(scope, segment.id, { status: 'ARCHIVED' }),
      () => segments.update(scope, list.segmentKey, { status: 'INACTIVE' }),
      () => messaging.get(SegmentsService).delete(scope, list.id),
    ];
    for (const off of turnOff) await expect(off()).rejects.toMatchObject({ code: 'in-use', users });
    await fixture.automations.pause(scope, id);
    for (const off of turnOff) await off();
  });

  it('is either activated or loses its field, whichever came first, and never both', async () => {
    for (let round = 0; round < 6; round += 1) {
      const field = { key: `${key}_${round}`, displayName: 'Race', type: 'TEXT' } as const;
      await fixture.messaging.get(CustomFieldsService).create(fixture.scope, field);
      const { id } = await fixture.automations.create(fixture.scope, {
        name: 'Race',
        description: null,
        triggerType: 'manual',
        triggerTopicId: fixture.topic.id,
      });
      const content = chain(trigger(), mail('m', { subject: `{{ custom.${field.key} }}` }));
      await fixture.automations.replaceContent(fixture.scope, id, content);
      const removal = fixture.messaging.get(CustomFieldsService);
      const tries = [
        () => fixture.automations.activate(fixture.scope, id),
        () => removal.archive(fixture.scope, field.key),
      ];
      const outcomes = await Promise.allSettled(
        (round % 2 === 0 ? tries : tries.toReversed()).map((act) => act()),
      );
      expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    }
  });

  it('cannot be activated with a segment whose rules name a field that was archived before', async () => {
    const { segmentKey } = await fixture.messaging
      .get(SegmentsService)
      .create(fixture.scope, { name: 'Gold', rules: JSON.stringify(where(`custom.${key}`, 'gold')) });
    await archiveAsBefore();
    const rules = { version: 1, where: { segment: { segmentKey, member: true } } };
    const message =
      'nodes[1].config.rules names the segment Gold, whose rules are no longer valid (rules.where.field is an archived field).';
    await expect(fixture.active(chain(trigger(), step('goal', { name: 'x', rules })))).rejects.toMatchObject({
      checks: [{ path: 'nodes[1].config.rules', message }],
    });
  });

  it('sends nobody a blank and lets nobody past where a field was archived before, and says why', async () => {
    const inMail = await fixture.active(chain(trigger(), mail('m', { subject: `Plan {{ custom.${key} }}` })));
    const inRules = await fixture.active(condition(`custom.${key}`, 'gold'));
    const inCall = await fixture.active(
      chain(trigger(), step('webhook', { url: receiver.url, body: `{{ custom.${key} }}` })),
    );
    const person = await fixture.person({ customFields: { [key]: 'gold' } });
    await archiveAsBefore();
    for (const id of [inMail, inRules, inCall]) await fixture.enter(id, person.email);
    await fixture.run();
    fixture.messaging.engine.start();
    const mails = await fixture.messaging.settled('its mail has failed', ({ state }) => state === 'FAILED');
    expect(mails.find(({ address: to }) => to === person.email)?.last_error).toBe(
      `{{ custom.${key} }} names a custom field that is archived.`,
    );
    for (const rest of [60_000, 600_000, 3_600_000, 3_600_000, 3_600_000 * 4]) await fixture.later(rest);
    const last = async (id: string) => (await fixture.executions(id))[0]?.steps.at(-1);
    expect(await last(inRules)).toMatchObject({
      status: 'FAILED',
      detail: expect.stringContaining(`The rules name custom.${key}, which is archived.`),
    });
    expect(await last(inCall)).toMatchObject({
      status: 'FAILED',
      detail: expect.stringContaining(`{{ custom.${key} }} names a custom field that is archived`),
    });
    expect(receiver.posts).toEqual([]);
  });
});
