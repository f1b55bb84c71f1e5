import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { FIELDS, ruleNodes } from '#testing/random/segment-rules';
import { namedInRules, parseRuleText, readRules, referencesIn } from './rule-reader.js';
import type { KnownField, RuleCatalogue } from './rule.js';

const segment = { leadsBack: false, conditions: 1, chain: 1 };
const CATALOGUE: RuleCatalogue = {
  topics: new Map([['APIT-1', 'topic']]),
  campaigns: new Map([['APIT-001', 'campaign']]),
  segments: new Map([
    ['APIT-1', { ...segment, id: 'segment' }],
    ['APIT-2', { ...segment, id: 'self', leadsBack: true }],
    ['APIT-3', { ...segment, id: 'large', conditions: 500 }],
    ['APIT-4', { ...segment, id: 'long', chain: 6 }],
  ]),
  customFields: new Map<string, KnownField>([
    ...Object.entries(FIELDS).map(
      ([key, { type, options }]) =>
        [key, { type, status: 'ACTIVE', options: options.map((value) => ({ value })) }] as const,
    ),
    ['old', { type: 'TEXT', status: 'ARCHIVED', options: [] }],
  ]),
};

const errorsOf = (where: unknown, root: object = { version: 1 }) => {
  const result = readRules({ ...root, where }, CATALOGUE);
  return 'errors' in result ? result.errors : {};
};
const field = (name: string, op: string, value?: unknown) => ({ field: name, op, value });
const EMAIL = field('email', 'exists');

describe('rules', () => {
  it('are accepted as the contract shows them', () => {
    const where = {
      and: [
        { consent: { topicKey: 'APIT-1', status: ['SUBSCRIBED'] } },
        field('custom.plan', 'in', ['pro', 'team']),
        { event: { type: 'OPENED' }, count: { op: 'gte', value: 2 }, within: 'P30D' },
        { not: { event: { type: 'CLICKED' }, count: { op: 'gte', value: 1 }, within: 'P90D' } },
      ],
    };
    expect(errorsOf(where)).toEqual({});
  });

  it.each<[string, string]>([
    ['rules', '{'],
    ['rules', ''],
    ['rules', 'null'],
    ['rules', '[]'],
    ['rules', '"text"'],
    ['rules', ' '.repeat(32 * 1024) + '{}'],
    ['rules.version', '{"where":{"field":"email","op":"exists"}}'],
    ['rules.version', '{"version":2,"where":{"field":"email","op":"exists"}}'],
    ['rules.where', '{"version":1}'],
    ['rules.then', '{"version":1,"where":{"field":"email","op":"exists"},"then":1}'],
  ])('are refused at %s when they are %j', (path, text) => {
    const parsed = parseRuleText(text);
    const result = 'errors' in parsed ? parsed : readRules(parsed.json, CATALOGUE);
    expect('errors' in result && Object.keys(result.errors)).toEqual([path]);
  });

  it.each<[string, unknown]>([
    ['', {}],
    ['', []],
    ['', { and: [EMAIL], or: [EMAIL] }],
    ['', { field: 'email', event: {}, op: 'exists' }],
    ['.and', { and: [] }],
    ['.and', { and: EMAIL }],
    ['.and[1]', { and: [EMAIL, 'x'] }],
    ['.extra', { and: [EMAIL], extra: 1 }],
    ['.not', { not: null }],
    ['.field', field('custom.unknown', 'eq', 1)],
    ['.field', field('custom.old', 'eq', 'x')],
    ['.field', field('custom.', 'eq', 'x')],
    ['.field', field('constructor', 'eq', 'x')],
    ['.field', field('custom.__proto__', 'eq', 'x')],
    ['.op', { field: 'email' }],
    ['.op', field('email', 'like', 'x')],
    ['.op', field('email', 'gt', 'x')],
    ['.op', field('status', 'contains', 'A')],
    ['.op', field('custom.age', 'contains', 'A')],
    ['.op', field('custom.vip', 'neq', true)],
    ['.op', field('custom.tags', 'in', ['a'])],
    ['.op', field('custom.plan', 'containsAny', ['a'])],
    ['.op', field('createdAt', 'eq', '2026-01-01')],
    ['.value', { field: 'email', op: 'eq' }],
    ['.value', field('email', 'eq', 7)],
    ['.value', field('email', 'eq', null)],
    ['.value', field('email', 'in', 'x')],
    ['.value', field('email', 'in', [])],
    ['.value[1]', field('email', 'in', ['x', 7])],
    ['.value', field('firstName', 'eq', 'a\u0000')],
    ['.value', field('firstName', 'eq', '\ud800')],
    ['.value', field('email', 'exists', false)],
    ['.value', field('status', 'eq', 'GONE')],
    ['.value[0]', field('source', 'in', ['FAX'])],
    ['.value', field('custom.age', 'eq', '41')],
    ['.value', field('custom.age', 'between', [1])],
    ['.value', field('custom.age', 'between', [1, 2, 3])],
    ['.value', field('custom.age', 'between', [2, 1])],
    ['.value[1]', field('custom.age', 'between', [1, 'x'])],
    ['.value', field('custom.vip', 'eq', 'true')],
    ['.value', field('custom.plan', 'eq', 1)],
    ['.value', field('custom.birthday', 'before', '2026-02-30')],
    ['.value', field('custom.birthday', 'on', '2026-01-01T00:00:00Z')],
    ['.value', field('custom.seen', 'after', '2026-01-01T00:00:00')],
    ['.value', field('createdAt', 'inLast', '30 days')],
    ['.value', field('createdAt', 'inLast', 'P731D')],
    ['.value', field('createdAt', 'inLast', 'P0D')],
    ['.value', field('createdAt', 'inLast', 30)],
    ['.why', { ...EMAIL, why: 1 }],
    ['.consent.topicKey', { consent: { status: ['SUBSCRIBED'] } }],
    ['.consent.topicKey', { consent: { topicKey: 'APIT-9', status: ['SUBSCRIBED'] } }],
    ['.consent.status', { consent: { topicKey: 'APIT-1' } }],
    ['.consent.status', { consent: { topicKey: 'APIT-1', status: 'SUBSCRIBED' } }],
    ['.consent.status[1]', { consent: { topicKey: 'APIT-1', status: ['SUBSCRIBED', 'MAYBE'] } }],
    ['.consent.within', { consent: { topicKey: 'APIT-1', status: ['SUBSCRIBED'], within: 'x' } }],
    ['.segment.segmentKey', { segment: { segmentKey: 'APIT-9', member: true } }],
    ['.segment.segmentKey', { segment: { segmentKey: 'APIT-2', member: true } }],
    ['.segment.segmentKey', { segment: { segmentKey: 'APIT-4', member: true } }],
    ['', { and: [{ segment: { segmentKey: 'APIT-3', member: true } }, EMAIL] }],
    ['.segment.member', { segment: { segmentKey: 'APIT-1' } }],
    ['.segment.member', { segment: { segmentKey: 'APIT-1', member: 'yes' } }],
    ['.event', { event: 'OPENED', count: { op: 'gte', value: 1 } }],
    ['.event.type', { event: { type: 'SEEN' }, count: { op: 'gte', value: 1 } }],
    [
      '.event.campaignKey',
      { event: { type: 'OPENED', campaignKey: 'APIT-999' }, count: { op: 'gte', value: 1 } },
    ],
    ['.event.topicKey', { event: { type: 'OPENED', topicKey: 'APIT-9' }, count: { op: 'gte', value: 1 } }],
    ['.event.url', { event: { type: 'OPENED', url: 'https://a.example' }, count: { op: 'gte', value: 1 } }],
    ['.event.name', { event: { type: 'OPENED', name: 'x' }, count: { op: 'gte', value: 1 } }],
    ['.event.name', { event: { type: 'CUSTOM', name: 'Not A Name' }, count: { op: 'gte', value: 1 } }],
    ['.event.topicKey', { event: { type: 'CUSTOM', topicKey: 'APIT-1' }, count: { op: 'gte', value: 1 } }],
    ['.count', { event: { type: 'OPENED' } }],
    ['.count.op', { event: { type: 'OPENED' }, count: { op: 'gt', value: 1 } }],
    ['.count.value', { event: { type: 'OPENED' }, count: { op: 'gte', value: -1 } }],
    ['.count.value', { event: { type: 'OPENED' }, count: { op: 'gte', value: 1.5 } }],
    ['.within', { event: { type: 'OPENED' }, count: { op: 'gte', value: 1 }, within: 'P3Y' }],
    [
      '.within',
      {
        event: { type: 'OPENED' },
        count: { op: 'gte', value: 1 },
        within: 'P3D',
        after: '2026-01-01T00:00:00Z',
      },
    ],
    ['.after', { event: { type: 'OPENED' }, count: { op: 'gte', value: 1 }, after: '2026-01-01' }],
    [
      '.before',
      {
        event: { type: 'OPENED' },
        count: { op: 'gte', value: 1 },
        after: '2026-01-02T00:00:00Z',
        before: '2026-01-01T00:00:00Z',
      },
    ],
  ])('have a fault at where%s in %j', (path, where) => {
    const isWhole =
      path === '' &&
      typeof where === 'object' &&
      where !== null &&
      'and' in where &&
      Array.isArray(where.and) &&
      where.and.length === 2;
    expect(Object.keys(errorsOf(where))).toEqual([isWhole ? 'rules' : `rules.where${path}`]);
  });

  it('are refused with every fault at once', () => {
    const where = {
      and: [
        field('custom.unknown', 'eq', 1),
        { or: [field('email', 'like', 'x'), { not: field('custom.age', 'gte', 'old') }] },
        { consent: { topicKey: 'APIT-9', status: [] } },
      ],
    };
    expect(errorsOf(where, { version: 3 })).toEqual({
      'rules.version': 'must be 1',
      'rules.where.and[0].field': 'is not a known field',
      'rules.where.and[1].or[0].op': expect.stringMatching(/^must be one of eq, neq, /),
      'rules.where.and[1].or[1].not.value': 'must be a number',
      'rules.where.and[2].consent.topicKey': 'is not a known topic',
      'rules.where.and[2].consent.status': 'must not be empty',
    });
  });

  it('are nested five levels deep and no deeper', () => {
    const nested = (levels: number): unknown => (levels === 0 ? EMAIL : { not: nested(levels - 1) });
    expect(errorsOf(nested(5))).toEqual({});
    expect(errorsOf(nested(6))).toEqual({
      'rules.where.not.not.not.not.not': 'must not be nested deeper than 5 levels',
    });
    expect(errorsOf(nested(3_000))).toEqual({
      'rules.where.not.not.not.not.not': 'must not be nested deeper than 5 levels',
    });
    const lists = (levels: number): unknown => (levels === 0 ? EMAIL : { and: [lists(levels - 1)] });
    expect(errorsOf(lists(5))).toEqual({});
    expect(Object.values(errorsOf(lists(6)))).toEqual(['must not be nested deeper than 5 levels']);
  });

  it('have fifty conditions and no more', () => {
    expect(errorsOf({ and: Array.from({ length: 50 }, () => EMAIL) })).toEqual({});
    expect(errorsOf({ and: Array.from({ length: 51 }, () => EMAIL) })).toEqual({
      rules: 'must have at most 50 conditions',
    });
  });

  it('find options in either case, the very one before others', () => {
    const testOf = (value: string) => {
      const read = readRules({ version: 1, where: field('custom.plan', 'eq', value) }, CATALOGUE);
      return 'rules' in read && 'test' in read.rules.where ? read.rules.where.test : null;
    };
    expect(testOf('PRO')).toMatchObject({ values: ['Pro'] });
    expect(testOf('pro')).toMatchObject({ values: ['pro'] });
    expect(testOf('FREE')).toMatchObject({ values: ['free'] });
  });

  it('that were accepted once are read on when what they name is gone', () => {
    const where = {
      or: [
        { consent: { topicKey: 'APIT-9', status: ['SUBSCRIBED'] } },
        { segment: { segmentKey: 'APIT-9', member: false } },
        { event: { type: 'SENT', campaignKey: 'APIT-999' }, count: { op: 'eq', value: 0 } },
        field('custom.old', 'eq', 'x'),
      ],
    };
    expect(readRules({ version: 1, where }, CATALOGUE, { stored: true })).toMatchObject({
      rules: {
        where: {
          nodes: [{ topicId: null }, { segmentId: null }, { event: { mails: { campaignId: null } } }, {}],
        },
      },
    });
  });

  it('name what is looked up, wherever it stands', () => {
    const json = {
      a: [{ topicKey: 'T' }, { segmentKey: 'S', x: { campaignKey: 'C' } }],
      field: 'custom.f',
      op: { field: 'email' },
    };
    expect(referencesIn(json)).toEqual({
      topicKeys: new Set(['T']),
      segmentKeys: new Set(['S']),
      campaignKeys: new Set(['C']),
      customFields: new Set(['f']),
    });
  });

  it('keep the topics, custom fields and options that they name, at any depth and in either case', () => {
    const where = {
      and: [
        { not: { consent: { topicKey: 'APIT-1', status: ['SUBSCRIBED'] } } },
        { field: 'custom.plan', op: 'in', value: ['PRO', 'team'] },
        {
          or: [
            { field: 'custom.plan', op: 'eq', value: 'Straße' },
            { field: 'custom.age', op: 'eq', value: 7 },
          ],
        },
        { field: 'email', op: 'eq', value: 'free' },
      ],
    };
    const text = JSON.stringify({ version: 1, where });
    const topic = (key: string) => namedInRules(text, { kind: 'topic', key });
    const custom = (key: string) => namedInRules(text, { kind: 'custom field', key });
    const option = (key: string, ...values: string[]) => namedInRules(text, { kind: 'option', key, values });
    expect([topic('APIT-1'), topic('APIT-11')]).toEqual([['APIT-1'], []]);
    expect([custom('plan'), custom('age'), custom('email'), custom('pla')]).toEqual([
      ['plan'],
      ['age'],
      [],
      [],
    ]);
    expect(option('plan', 'pro', 'free', 'team', 'STRAẞE')).toEqual(['pro', 'team', 'STRAẞE']);
    expect(option('age', 'pro', '7')).toEqual([]);
    expect(namedInRules('no rules', { kind: 'topic', key: 'rules' })).toEqual([]);
  });

  it('never make the reader throw, whatever JSON they are', () => {
    const known = {
      topicKeys: ['APIT-1', 'x'],
      segmentKeys: ['APIT-1', 'APIT-2'],
      campaignKeys: ['APIT-001', 'y'],
    };
    const broken = fc.oneof(
      fc.jsonValue(),
      ruleNodes(known),
      fc.dictionary(
        fc.constantFrom(
          'and',
          'or',
          'not',
          'field',
          'op',
          'value',
          'event',
          'count',
          'consent',
          'segment',
          '__proto__',
        ),
        fc.jsonValue(),
      ),
    );
    fc.assert(
      fc.property(broken, (where) => {
        const result = readRules({ version: 1, where }, CATALOGUE);
        if ('errors' in result)
          for (const path of Object.keys(result.errors)) expect(path).toMatch(/^rules(\.|$)/);
        referencesIn(where);
      }),
    );
  });
});
