import * as fc from './properties.js';

/** Texts that differ in case, in more than case, or hold what SQL or JSON could stumble over. */
export const TEXTS = [
  '',
  ' ',
  'pro',
  'PRO',
  'Pro max',
  'Straße',
  'STRASSE',
  'STRAẞE',
  'ΟΔΟΣ',
  'οδος',
  'οδοσ x',
  'İstanbul',
  'istanbul',
  'ISTANBUL',
  'ısı',
  'Émile',
  'e\u0301MILE',
  'Ǆ',
  'ǆ',
  'ﬃ',
  'ŉa',
  'K9',
  'k9',
  'ſs',
  '𐐀bc',
  '𐐨BC',
  '100%_\\',
  `o'clock "x" \n`,
  '😀',
] as const;

export const FIELDS = {
  plan: { type: 'SELECT', options: ['free', 'Pro', 'pro', 'team', '3', 'true'] },
  tags: { type: 'MULTI_SELECT', options: ['a', 'B', 'b', 'ü'] },
  note: { type: 'TEXT', options: [] },
  essay: { type: 'LONG_TEXT', options: [] },
  age: { type: 'NUMBER', options: [] },
  score: { type: 'DECIMAL', options: [] },
  vip: { type: 'BOOLEAN', options: [] },
  birthday: { type: 'DATE', options: [] },
  seen: { type: 'DATETIME', options: [] },
} as const;

export const EVENT_NAMES = ['bought', 'visited.shop'] as const;
export const URLS = ['https://a.example/x', 'https://a.example/X'] as const;
export const STATUSES = [
  'SUPPRESSED',
  'COMPLAINED',
  'BOUNCED',
  'ACTIVE',
  'PENDING_CONFIRMATION',
  'UNSUBSCRIBED',
] as const;
export const SOURCES = ['API', 'IMPORT', 'FORM', 'MANUAL'] as const;
export const CONSENTS = ['PENDING_CONFIRMATION', 'SUBSCRIBED', 'UNSUBSCRIBED', 'EXPIRED'] as const;
export const MAILS = [
  'SENT',
  'DELIVERED',
  'OPENED',
  'CLICKED',
  'BOUNCED',
  'COMPLAINED',
  'UNSUBSCRIBED',
] as const;
export const EMAILS = [
  'ada@example.com',
  'Ada.Lovelace+x@Example.com',
  'grace@bücher.example',
  'linus@xn--bcher-kva.example',
  'Ünal@sub.example.org',
] as const;

/** A leap year's November: windows of 100 days hold a 29 February that is none. */
export const NOW = new Date('2026-11-21T06:00:00.000Z');
const DAY_MS = 86_400_000;
const DURATIONS = [
  'PT1H',
  'PT36H',
  'P1D',
  'P7D',
  'P2W',
  'P1M',
  'P30D',
  'P100D',
  'P1Y',
  'P365D',
  'P730D',
  'P1Y2M3DT4H5M6S',
] as const;

/** Moments near now, on the edges of days and windows, and far away. */
export const moments = fc
  .oneof(
    fc.integer({ min: -3 * DAY_MS, max: 3 * DAY_MS }),
    fc.constantFrom(
      0,
      -1,
      1,
      -DAY_MS,
      -7 * DAY_MS,
      -7 * DAY_MS - 1,
      7 * DAY_MS,
      7 * DAY_MS + 1,
      -30 * DAY_MS,
    ),
    fc.integer({ min: -800, max: 800 }).map((days) => days * DAY_MS - 6 * 3_600_000),
    fc
      .constantFrom('2024-02-29T12:00:00.000Z', '2024-02-28T23:59:59.999Z', '2024-12-31T23:59:59.999Z')
      .map((text) => Date.parse(text) - NOW.getTime()),
  )
  .map((offset) => new Date(NOW.getTime() + offset));

export const days = moments.map((moment) => moment.toISOString().slice(0, 10));

/** The same moment with some offset to UTC. */
const timestamps = fc.tuple(moments, fc.constantFrom(0, 330, -480)).map(([moment, minutes]) => {
  if (minutes === 0) return moment.toISOString();
  const local = new Date(moment.getTime() + minutes * 60_000).toISOString().slice(0, -1);
  const [hours, rest] = [Math.floor(Math.abs(minutes) / 60), Math.abs(minutes) % 60];
  return `${local}${minutes > 0 ? '+' : '-'}${String(hours).padStart(2, '0')}:${String(rest).padStart(2, '0')}`;
});

export const texts = fc.oneof(
  { weight: 4, arbitrary: fc.constantFrom(...TEXTS) },
  {
    weight: 1,
    arbitrary: fc.string({ unit: 'grapheme', maxLength: 4 }).map((text) => text.replaceAll('\u0000', '')),
  },
);
export const numbers = fc.oneof(
  fc.integer({ min: -3, max: 6 }),
  fc.constantFrom(0.1, 0.30000000000000004, 2.5, 1e15, -9_007_199_254_740_991),
);
const durations = fc.constantFrom(...DURATIONS);

function condition(
  field: string,
  op: fc.Arbitrary<string>,
  value: fc.Arbitrary<unknown>,
): fc.Arbitrary<unknown> {
  return fc.record({ field: fc.constant(field), op, value });
}

function textConditions(field: string, values: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  return fc.oneof(
    condition(
      field,
      fc.constantFrom('eq', 'neq', 'contains', 'notContains', 'startsWith', 'endsWith'),
      values,
    ),
    condition(field, fc.constantFrom('in', 'notIn'), fc.array(values, { minLength: 1, maxLength: 6 })),
    exists(field),
  );
}

function choiceConditions(field: string, values: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  return fc.oneof(
    condition(field, fc.constantFrom('eq', 'neq'), values),
    condition(field, fc.constantFrom('in', 'notIn'), fc.array(values, { minLength: 1, maxLength: 6 })),
    exists(field),
  );
}

function dateConditions(field: string, values: fc.Arbitrary<string>): fc.Arbitrary<unknown> {
  return fc.oneof(
    condition(field, fc.constantFrom('before', 'after', 'on'), values),
    condition(field, fc.constantFrom('inLast', 'notInLast', 'inNext', 'anniversaryInNext'), durations),
    exists(field),
  );
}

function numberConditions(field: string): fc.Arbitrary<unknown> {
  const ordered = fc
    .tuple(numbers, numbers)
    .map(([one, other]) => (one <= other ? [one, other] : [other, one]));
  return fc.oneof(
    condition(field, fc.constantFrom('eq', 'neq', 'gt', 'gte', 'lt', 'lte'), numbers),
    condition(field, fc.constant('between'), ordered),
    exists(field),
  );
}

function exists(field: string): fc.Arbitrary<unknown> {
  return fc.record({ field: fc.constant(field), op: fc.constantFrom('exists', 'notExists') });
}

/** Names as they are, in the other case, and ones that are no option. */
function optionsOf(key: 'plan' | 'tags'): fc.Arbitrary<string> {
  const options: readonly string[] = FIELDS[key].options;
  return fc.constantFrom(...options, ...options.map((option) => option.toUpperCase()), 'none');
}

const emailParts = fc.constantFrom(
  ...EMAILS,
  ...EMAILS.map((email) => email.toUpperCase()),
  '@example.com',
  '@bücher.example',
  'BÜCHER.example',
  'ada',
  'ün',
  '.org',
  '',
);

const fieldConditions = fc.oneof(
  textConditions('email', emailParts),
  ...['externalId', 'firstName', 'lastName', 'phone', 'subscriber.locale', 'subscriber.time_zone'].map(
    (field) => textConditions(field, texts),
  ),
  ...['custom.note', 'custom.essay'].map((field) => textConditions(field, texts)),
  choiceConditions('status', fc.constantFrom(...STATUSES)),
  choiceConditions('source', fc.constantFrom(...SOURCES)),
  choiceConditions('custom.plan', optionsOf('plan')),
  dateConditions('createdAt', fc.oneof(days, timestamps)),
  dateConditions('custom.seen', fc.oneof(days, timestamps)),
  dateConditions('custom.birthday', days),
  numberConditions('custom.age'),
  numberConditions('custom.score'),
  condition('custom.vip', fc.constant('eq'), fc.boolean()),
  exists('custom.vip'),
  condition(
    'custom.tags',
    fc.constantFrom('containsAny', 'containsAll', 'containsNone'),
    fc.array(optionsOf('tags'), { minLength: 1, maxLength: 4 }),
  ),
  exists('custom.tags'),
);

export interface KnownKeys {
  readonly topicKeys: readonly string[];
  readonly segmentKeys: readonly string[];
  readonly campaignKeys: readonly string[];
}

function eventConditions({ topicKeys, campaignKeys }: KnownKeys): fc.Arbitrary<unknown> {
  const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined, freq: 2 });
  const mail = fc
    .record({
      type: fc.constantFrom(...MAILS),
      campaignKey: maybe(fc.constantFrom(...campaignKeys)),
      topicKey: maybe(fc.constantFrom(...topicKeys)),
      url: maybe(fc.constantFrom(...URLS)),
    })
    .map(({ url, ...event }) => (event.type === 'CLICKED' ? { ...event, url } : event));
  const total = fc.record({
    property: fc.constant('total'),
    op: fc.constantFrom('eq', 'neq', 'gte', 'lt'),
    value: fc.integer({ min: 0, max: 3 }),
  });
  const custom = fc.record({
    type: fc.constant('CUSTOM'),
    name: maybe(fc.constantFrom(...EVENT_NAMES)),
    where: maybe(fc.array(total, { minLength: 1, maxLength: 2 })),
  });
  const count = fc.record({ op: fc.constantFrom('gte', 'lte', 'eq'), value: fc.integer({ min: 0, max: 3 }) });
  const window = fc.oneof(
    fc.constant({}),
    fc.record({ within: durations }),
    fc.record({ after: timestamps }),
    fc.record({ before: timestamps }),
    fc.tuple(moments, fc.integer({ min: 1, max: 40 })).map(([after, length]) => ({
      after: after.toISOString(),
      before: new Date(after.getTime() + length * DAY_MS).toISOString(),
    })),
  );
  return fc
    .tuple(fc.oneof(mail, custom), count, window)
    .map(([event, times, when]) => ({ event, count: times, ...when }));
}

/** Nodes of the grammar, up to its depth. */
export function ruleNodes(known: KnownKeys): fc.Arbitrary<unknown> {
  const consent = fc
    .record({
      topicKey: fc.constantFrom(...known.topicKeys),
      status: fc.uniqueArray(fc.constantFrom(...CONSENTS), { minLength: 1 }),
      within: fc.option(durations, { nil: undefined }),
    })
    .map((each) => ({ consent: each }));
  const segment = fc
    .record({ segmentKey: fc.constantFrom(...known.segmentKeys), member: fc.boolean() })
    .map((each) => ({ segment: each }));
  const leaf = fc.oneof(
    { weight: 5, arbitrary: fieldConditions },
    { weight: 2, arbitrary: eventConditions(known) },
    { weight: 1, arbitrary: consent },
    ...(known.segmentKeys.length === 0 ? [] : [{ weight: 1, arbitrary: segment }]),
  );
  return fc.letrec<{ node: unknown }>((tie) => ({
    node: fc.oneof(
      { maxDepth: 4, depthSize: 'small' },
      { weight: 3, arbitrary: leaf },
      { weight: 1, arbitrary: fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((and) => ({ and })) },
      { weight: 1, arbitrary: fc.array(tie('node'), { minLength: 1, maxLength: 3 }).map((or) => ({ or })) },
      { weight: 1, arbitrary: tie('node').map((not) => ({ not })) },
    ),
  })).node;
}
