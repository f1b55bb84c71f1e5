import { describe, expect, it } from '@jest/globals';
import { EMAIL, errorsOf, faultsBelow, field, read } from '#testing/random/rules';

describe('a rule of a field', () => {
  const text = (is: string, ...values: readonly string[]) => ({ test: 'text', is, values });
  const from = (value: number, inclusive: boolean) => ({ value, inclusive });

  it.each<[string, string, unknown, object, boolean]>([
    ['firstName', 'eq', 'Ada', text('equal', 'ada'), false],
    ['firstName', 'eq', ' Ada@BÜCHER.example', text('equal', 'ada@bücher.example'), false],
    ['lastName', 'in', ['"Ada"', 'Jose\u0301'], text('equal', 'ada', 'josé'), false],
    ['firstName', 'contains', ' e\u0301', text('containing', ' é'), false],
    ['locale', 'eq', 'en_US', text('equal', 'en-us'), false],
    ['locale', 'startsWith', 'pt-', text('beginning', 'pt-'), false],
    ['custom.work', 'eq', 'Ada@BÜCHER.example', text('equal', 'ada@bücher.example'), false],
    ['lastName', 'neq', 'Ada', text('equal', 'ada'), true],
    ['phone', 'in', ['A', 'B'], text('equal', 'a', 'b'), false],
    ['custom.note', 'notIn', ['A'], text('equal', 'a'), true],
    ['custom.essay', 'contains', 'X', text('containing', 'x'), false],
    ['custom.page', 'notContains', 'X', text('containing', 'x'), true],
    ['custom.fax', 'startsWith', '+49', text('beginning', '+49'), false],
    ['custom.work', 'endsWith', '.ORG', text('ending', '.org'), false],
    ['email', 'eq', ' Ada@BÜCHER.example ', text('equal', 'ada@xn--bcher-kva.example'), false],
    ['email', 'eq', 'Ada', text('equal', 'ada'), false],
    ['email', 'startsWith', ' Ada', text('beginning', ' ada'), false],
    ['email', 'contains', 'BÜCHER.ex', text('containing', 'bücher.ex'), false],
    ['email', 'contains', 'ÜN', text('containing', 'ün'), false],
    ['email', 'endsWith', 'BÜCHER.example', text('ending', 'xn--bcher-kva.example'), false],
    ['email', 'endsWith', '@BÜCHER.example', text('ending', '@xn--bcher-kva.example'), false],
    ['email', 'endsWith', '.ORG', text('ending', '.org'), false],
    ['email', 'contains', 'A@B', text('containing', 'a@b'), false],
    ['custom.age', 'eq', 7, { test: 'number', from: from(7, true), to: from(7, true) }, false],
    ['custom.age', 'neq', 7, { test: 'number', from: from(7, true), to: from(7, true) }, true],
    ['custom.age', 'gt', 7, { test: 'number', from: from(7, false), to: null }, false],
    ['custom.age', 'gte', 7, { test: 'number', from: from(7, true), to: null }, false],
    ['custom.score', 'lt', 7, { test: 'number', from: null, to: from(7, false) }, false],
    ['custom.score', 'lte', 7, { test: 'number', from: null, to: from(7, true) }, false],
    ['custom.score', 'between', [1, 2], { test: 'number', from: from(1, true), to: from(2, true) }, false],
    ['custom.score', 'between', [1, 1], { test: 'number', from: from(1, true), to: from(1, true) }, false],
    ['custom.vip', 'eq', false, { test: 'boolean', value: false }, false],
    ['status', 'eq', 'active', { test: 'choice', values: ['ACTIVE'] }, false],
    ['source', 'notIn', ['API', 'form'], { test: 'choice', values: ['API', 'FORM'] }, true],
    ['source', 'in', ['IMPORT', 'MANUAL'], { test: 'choice', values: ['IMPORT', 'MANUAL'] }, false],
    ['custom.plan', 'eq', 'PRO', { test: 'choice', values: ['Pro'] }, false],
    ['custom.plan', 'neq', 'pro', { test: 'choice', values: ['pro'] }, true],
    ['custom.plan', 'eq', 'gone', { test: 'choice', values: ['gone'] }, false],
    ['custom.tags', 'containsAny', ['ü'], { test: 'choices', match: 'any', values: ['Ü'] }, false],
    ['custom.tags', 'containsAll', ['a'], { test: 'choices', match: 'all', values: ['a'] }, false],
    ['custom.tags', 'containsNone', ['a'], { test: 'choices', match: 'any', values: ['a'] }, true],
  ])('reads %s %s %j', (name, op, value, test, negated) => {
    const custom = /^custom\.(.*)/.exec(name)?.[1];
    expect(read(field(name, op, value)).where).toEqual({
      kind: 'field',
      field: custom === undefined ? { column: name } : { custom },
      test,
      negated,
    });
  });

  it.each([
    ['email', 'text'],
    ['status', 'choice'],
    ['createdAt', 'moment'],
    ['custom.age', 'number'],
    ['custom.vip', 'boolean'],
    ['custom.birthday', 'date'],
    ['custom.seen', 'moment'],
    ['custom.plan', 'choice'],
    ['custom.tags', 'choices'],
  ])('asks whether there is a %s', (name, of) => {
    expect(read(field(name, 'exists')).where).toMatchObject({ test: { test: 'exists', of }, negated: false });
    expect(read(field(name, 'notExists', true)).where).toMatchObject({
      test: { test: 'exists', of },
      negated: true,
    });
    expect(read(field(name, 'exists', null)).where).toMatchObject({ test: { test: 'exists', of } });
  });

  it.each<[string, string, string, object, boolean]>([
    ['custom.birthday', 'before', '2026-01-01', { of: 'date', is: 'before' }, false],
    ['custom.birthday', 'after', '2026-01-01', { of: 'date', is: 'after' }, false],
    ['createdAt', 'on', '2026-01-01', { of: 'moment', is: 'on' }, false],
  ])('reads the day of %s %s %s', (name, op, day, test, negated) => {
    expect(read(field(name, op, day)).where).toMatchObject({
      test: { test: 'calendar', ...test, than: { day } },
      negated,
    });
  });

  it('reads a moment where moments are compared', () => {
    expect(read(field('custom.seen', 'after', '2026-01-01T02:00:00+02:00')).where).toMatchObject({
      test: {
        test: 'calendar',
        of: 'moment',
        is: 'after',
        than: { moment: new Date('2026-01-01T00:00:00Z') },
      },
    });
  });

  it.each([
    ['inLast', 'inLast', false],
    ['notInLast', 'inLast', true],
    ['inNext', 'inNext', false],
    ['anniversaryInNext', 'anniversaryInNext', false],
  ])('reads %s with its duration', (op, is, negated) => {
    const duration = { months: 0, days: 7, milliseconds: 0 };
    expect(read(field('custom.birthday', op, 'P7D')).where).toMatchObject({
      test: { test: 'relative', of: 'date', is, duration },
      negated,
    });
    expect(read(field('createdAt', op, 'P7D')).where).toMatchObject({ test: { of: 'moment', is } });
  });

  it.each<[string, unknown, Record<string, string>]>([
    ['an unknown field', field('custom.x', 'eq', 1), { '.field': 'is not a known field' }],
    ['a column that there is not', field('note', 'eq', 1), { '.field': 'is not a known field' }],
    ['an archived field', field('custom.old', 'eq', 'x'), { '.field': 'is an archived field' }],
    ['no field', { op: 'eq', field: 7 }, { '.field': 'must be a string' }],
    [
      'an unknown field and no operator',
      { field: 'custom.x', op: 7 },
      { '.field': 'is not a known field', '.op': 'must be a string' },
    ],
    ['no operator', { field: 'email' }, { '.op': 'is required' }],
    [
      'an operator of other fields',
      field('custom.vip', 'gt', 1),
      { '.op': 'must be one of eq, exists, notExists' },
    ],
    ['no text', { field: 'email', op: 'eq' }, { '.value': 'is required' }],
    ['a number for a text', field('email', 'eq', 7), { '.value': 'must be a string' }],
    ['half a character', field('email', 'eq', '\ud800'), { '.value': 'is not valid Unicode text' }],
    [
      'what PostgreSQL cannot store',
      field('email', 'eq', '\u0000'),
      { '.value': 'is not valid Unicode text' },
    ],
    ['a text for a list', field('email', 'in', 'x'), { '.value': 'must be a list' }],
    ['no list', { field: 'email', op: 'in' }, { '.value': 'is required' }],
    ['an empty list', field('email', 'in', []), { '.value': 'must not be empty' }],
    ['no number', { field: 'custom.age', op: 'gt' }, { '.value': 'is required' }],
    ['a text for a number', field('custom.age', 'gt', '7'), { '.value': 'must be a number' }],
    ['an endless number', field('custom.age', 'gt', Infinity), { '.value': 'must be a number' }],
    ['one bound', field('custom.age', 'between', [1]), { '.value': 'must be a list of two numbers' }],
    [
      'three bounds',
      field('custom.age', 'between', [1, 2, 3]),
      { '.value': 'must be a list of two numbers' },
    ],
    [
      'bounds in disorder',
      field('custom.age', 'between', [2, 1]),
      { '.value': 'must have the smaller number first' },
    ],
    ['no yes or no', { field: 'custom.vip', op: 'eq' }, { '.value': 'is required' }],
    ['a text for yes or no', field('custom.vip', 'eq', 'yes'), { '.value': 'must be true or false' }],
    [
      'a source that there is not',
      field('source', 'eq', 'FAX'),
      { '.value': 'must be one of API, IMPORT, FORM, MANUAL' },
    ],
    [
      'a value for a mere question',
      field('email', 'exists', false),
      { '.value': 'must not be used with exists and notExists' },
    ],
    [
      'a moment for a day',
      field('custom.birthday', 'on', '2026-01-01T00:00:00Z'),
      { '.value': 'must be a date such as 2026-11-21' },
    ],
    [
      'a day that is none',
      field('createdAt', 'on', 'today'),
      { '.value': 'must be a date and time in ISO 8601 with a time zone' },
    ],
    ['a number for a day', field('createdAt', 'on', 7), { '.value': 'must be a string' }],
    [
      'a duration that is none',
      field('createdAt', 'inLast', '7'),
      { '.value': 'must be an ISO 8601 duration such as P30D' },
    ],
    ['a number for a duration', field('createdAt', 'inLast', 7), { '.value': 'must be a string' }],
    [
      'more than its members',
      { ...EMAIL, and: undefined, why: 1 },
      { '.and': 'is not a known field', '.why': 'is not a known field' },
    ],
  ])('with %s says what is wrong', (_, where, faults) => {
    expect(errorsOf(where)).toEqual(faultsBelow('rules.where', faults));
  });

  it('that was accepted once still reads a field that is archived now', () => {
    expect(read(field('custom.old', 'eq', 'x'), { stored: true }).where).toMatchObject({
      field: { custom: 'old' },
    });
  });
});
