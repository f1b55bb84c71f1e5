import { HOSTILE_NAMES, HOSTILE_TEXTS, known, LARGE_TEXTS, toJson } from './hostile-values.js';
import * as fc from './properties.js';
import { hostileValues } from './schema-arbitrary.js';
import { ruleNodes } from './segment-rules.js';

const resource = (kind: string): fc.Arbitrary<string> => fc.nat(1_000).map((index) => known(kind, index));
/** JSON in a string: plain, with a hostile value or name somewhere, no JSON at all, nested too deeply. */
const documents = (plain: fc.Arbitrary<unknown>, sound: fc.Arbitrary<unknown>): fc.Arbitrary<string> =>
  fc.oneof(
    { weight: 4, arbitrary: plain.map(toJson) },
    { weight: 4, arbitrary: sound.map(toJson) },
    { weight: 4, arbitrary: fc.tuple(sound, spoiling).map(([value, spoil]) => toJson(spoil(value))) },
    { weight: 1, arbitrary: fc.constantFrom(...HOSTILE_TEXTS, ...LARGE_TEXTS, ...NESTED) },
  );
const NESTED = [
  `{"version":1,"where":${'{"not":'.repeat(2_000)}{}${'}'.repeat(2_001)}`,
  `{"version":1,"where":${'{"and":['.repeat(8_000)}${']}'.repeat(8_000)}}`,
  `{"blocks":${'[{"type":"columns","columns":[{"blocks":'.repeat(5_000)}[]${'}]}]'.repeat(5_000)}}`,
  `{"blocks":[${Array.from({ length: 5_000 }, () => '{"type":"divider"}').join(',')}]}`,
  `[{"id":"n0","type":"trigger","config":${'{"a":'.repeat(10_000)}1${'}'.repeat(10_000)}}]`,
];
/** Documents as most clients write them. */
const PLAIN = {
  contentJson: fc.constant({ blocks: [{ type: 'text', html: '<p>Hello {{ subscriber.first_name }}</p>' }] }),
  rules: fc.constant({ version: 1, where: { field: 'email', op: 'contains', value: 'a' } }),
  nodes: fc.constantFrom(
    [
      { id: 'n0', type: 'trigger', config: {} },
      { id: 'n1', type: 'delay', config: { duration: 'P1D' } },
    ],
    [
      { id: 'n0', type: 'trigger', config: {} },
      {
        id: 'n1',
        type: 'email',
        config: { subject: 'x', contentJson: '{"blocks":[{"type":"text","html":"x"}]}' },
      },
    ],
  ),
  edges: fc.constant([{ id: 'e0', source: 'n0', target: 'n1' }]),
};

/** Puts a hostile value in the place of one that lies somewhere in a document, or beside it. */
const spoiling = fc
  .tuple(
    fc.array(fc.nat(7), { minLength: 1, maxLength: 7 }),
    hostileValues,
    fc.constantFrom(...HOSTILE_NAMES),
  )
  .map(([path, hostile, name]) => {
    const spoil = (value: unknown, depth: number): unknown => {
      const step = path[depth];
      if (step === undefined || typeof value !== 'object' || value === null) return hostile;
      if (Array.isArray(value)) {
        const items: unknown[] = [...(value as unknown[])];
        items[step % (items.length + 1)] = spoil(items[step % (items.length + 1)], depth + 1);
        return items;
      }
      const entries = Object.entries(value);
      const at = step % (entries.length + 1);
      const [key, inner] = entries[at] ?? [name, undefined];
      return Object.fromEntries([
        ...entries.filter(([each]) => each !== key),
        [key, spoil(inner, depth + 1)],
      ]);
    };
    return (value: unknown) => spoil(value, 0);
  });

const texts = fc.oneof(
  fc.constantFrom('Hello', 'Hello {{ subscriber.first_name | default: "you" }}!', ''),
  fc.constantFrom(...HOSTILE_TEXTS),
);
const urls = fc.oneof(
  fc.webUrl(),
  fc.constantFrom(
    '{{ unsubscribe_url }}',
    '{{ preferences_url }}',
    'https://a.example/{{ subscriber.email }}',
  ),
  fc.constantFrom(...HOSTILE_TEXTS),
);
const { block } = fc.letrec<{ block: unknown; simple: unknown }>((tie) => ({
  simple: fc.oneof(
    fc.record({ type: fc.constant('heading'), level: fc.integer({ min: 0, max: 4 }), text: texts }),
    fc.record({ type: fc.constant('text'), html: texts }),
    fc.record({ type: fc.constant('html'), html: texts }),
    fc.record({
      type: fc.constant('image'),
      src: urls,
      alt: texts,
      href: urls,
      width: fc.integer({ min: 0, max: 901 }),
    }),
    fc.record({
      type: fc.constant('button'),
      label: texts,
      url: urls,
      color: fc.constantFrom('#fff', '#0b57d0', 'red;}'),
    }),
    fc.constant({ type: 'divider' }),
    fc.record({ type: fc.constant('spacer'), height: fc.integer({ min: 0, max: 501 }) }),
  ),
  block: fc.oneof(
    { weight: 5, arbitrary: tie('simple') },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('columns'),
        columns: fc.array(fc.record({ blocks: fc.array(tie('simple'), { maxLength: 2 }) }), { maxLength: 4 }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        type: fc.constant('mjml'),
        mjml: texts.map(
          (text) =>
            `<mjml><mj-body><mj-section><mj-column><mj-text>${text}</mj-text></mj-column></mj-section></mj-body></mjml>`,
        ),
      }),
    },
  ),
}));
const contents = fc.record(
  {
    blocks: fc.array(block, { maxLength: 5 }),
    theme: fc.record({ fontFamily: texts, width: fc.integer({ min: 319, max: 901 }) }, { requiredKeys: [] }),
  },
  { requiredKeys: ['blocks'] },
);
const rules = fc.record({
  version: fc.constantFrom(1, 1, 1, 1, 2),
  where: ruleNodes({
    topicKeys: [known('topicKey', 0), known('topicKey', 1), 'APIT-999'],
    segmentKeys: [known('segmentId', 0), known('segmentId', 1)],
    campaignKeys: [known('campaignKey', 0), known('campaignKey', 1)],
  }),
});

const times = fc.constantFrom('09:00', '24:00', '02:30', '9', '23:59:59.999');
const zones = fc.constantFrom('Europe/Berlin', 'UTC', 'Mars/Base', '+02:00', '', 'America/St_Johns');
const CONFIGS: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  trigger: fc.record(
    {
      segmentKey: resource('segmentId'),
      eventName: fc.constantFrom('bought', 'x'),
      reEntry: fc.constantFrom('ONCE', 'AFTER_EXIT', 'ALWAYS', 'x'),
    },
    { requiredKeys: [] },
  ),
  email: fc.record(
    { subject: texts, contentJson: contents.map(toJson), topicKey: resource('topicKey') },
    { requiredKeys: ['subject', 'contentJson'] },
  ),
  delay: fc.oneof(
    fc.record({ duration: fc.constantFrom('PT0S', 'PT1S', 'P3D', 'P1000Y', 'P99999999999Y', '-P1D', 'P') }),
    fc.record({
      until: fc.record(
        {
          time: times,
          timezone: zones,
          daysOfWeek: fc.array(fc.constantFrom<unknown>(1, 7, 0, 8, 'MON', 'X')),
        },
        { requiredKeys: ['time'] },
      ),
    }),
  ),
  condition: fc.record({ rules: fc.oneof(rules, rules.map(toJson)) }),
  ab_split: fc.record({
    weights: fc.record({ a: fc.integer({ min: -1, max: 101 }), b: fc.integer({ min: -1, max: 101 }) }),
  }),
  goal: fc.record({ name: texts, rules }),
  webhook: fc.record(
    { url: urls, headers: fc.dictionary(texts, texts, { maxKeys: 2 }), body: texts },
    { requiredKeys: ['url'] },
  ),
  topic_action: fc.record({
    action: fc.constantFrom('subscribe', 'unsubscribe', 'x'),
    topicKey: resource('topicKey'),
  }),
  segment_action: fc.record({ action: fc.constantFrom('add', 'remove'), segmentKey: resource('segmentId') }),
  wait_for: fc.record(
    {
      event: fc.record({ type: fc.constantFrom('CUSTOM', 'CLICKED'), name: fc.constantFrom('order', 'X') }),
      rules,
      timeout: fc.constantFrom('P3D', 'PT1H', 'P731D', 'x'),
    },
    { requiredKeys: ['timeout'] },
  ),
  update_field: fc.record({
    key: fc.constantFrom('first_name', 'subscriber.locale', 'custom.plan', 'plan', 'x'),
    value: fc.oneof(
      texts,
      fc.constantFrom(null, 1, true, 'en', '{{ event.plan }}', '{{ event.plan | default: "x" }}'),
    ),
  }),
};
const TYPES = Object.keys(CONFIGS);
const node = (index: number): fc.Arbitrary<unknown> =>
  (index === 0 ? fc.constant('trigger') : fc.constantFrom(...TYPES)).chain((type) =>
    fc.record({
      id: fc.constant(`n${index}`),
      type: fc.constant(type),
      config: CONFIGS[type] ?? fc.constant({}),
    }),
  );
const nodes = fc
  .integer({ min: 0, max: 6 })
  .chain((count) => fc.tuple(...Array.from({ length: count }, (_, index) => node(index))));
const edges = fc.array(
  fc.record(
    {
      id: fc.nat(9).map((index) => `e${index}`),
      source: fc.nat(6).map((index) => `n${index}`),
      target: fc.nat(6).map((index) => `n${index}`),
      branch: fc.constantFrom('yes', 'no', 'a', 'b', 'happened', 'timeout', 'x'),
    },
    { requiredKeys: ['id', 'source', 'target'] },
  ),
  { maxLength: 7 },
);
/** A way through all steps, one after the other: what most automations look like. */
const path = fc.integer({ min: 1, max: 7 }).map((count) =>
  Array.from({ length: count }, (_, index) => ({
    id: `e${index}`,
    source: `n${index}`,
    target: `n${index + 1}`,
  })),
);

const RESOURCES: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  topicKey: resource('topicKey'),
  topicKeys: resource('topicKey'),
  topicIds: resource('topicId'),
  triggerTopicId: resource('topicId'),
  segmentIds: resource('segmentUuid'),
  emails: resource('email'),
  email: fc.oneof(resource('email'), fc.emailAddress()),
  ipAddress: fc.ipV4(),
  sourceUrl: fc.webUrl(),
  domainName: fc.nat(99).map((index) => `mail${index}.sender.example`),
  locale: fc.constantFrom('en', 'de'),
};

/** Values for the properties whose text is a document of its own, or that name a resource: usual ones. */
export const PLAIN_BY_NAME: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ...RESOURCES,
  contentJson: PLAIN.contentJson.map(toJson),
  rules: PLAIN.rules.map(toJson),
  nodes: PLAIN.nodes.map(toJson),
  edges: PLAIN.edges.map(toJson),
};

/** The same, of all kinds. */
export const ANY_BY_NAME: Readonly<Record<string, fc.Arbitrary<unknown>>> = {
  ...RESOURCES,
  contentJson: documents(PLAIN.contentJson, contents),
  rules: documents(PLAIN.rules, rules),
  nodes: documents(PLAIN.nodes, nodes),
  edges: documents(PLAIN.edges, fc.oneof(path, edges)),
};
