import { describe, expect, it } from '@jest/globals';
import { isSegmentKey, refuseRules, Segment, typeBy } from './segment.js';

const CREATED = new Date('2026-11-23T05:00:00Z');
const LATER = new Date('2026-11-23T06:00:00Z');
const segment = (rules: string | null) =>
  new Segment({ id: '7', environmentId: 1, segmentKey: 'ACME-1' }, { name: 'VIPs', rules }, CREATED);

describe('a segment', () => {
  it.each(['AC-1', 'ACME-42', 'A1-9', 'ACME1234-1', 'ACME-1234567890123456789'])(
    'can have the key %s',
    (key) => {
      expect(isSegmentKey(key)).toBe(true);
    },
  );

  it.each([
    '',
    'ACME',
    'ACME-',
    'A-1',
    '1A-1',
    'acme-1',
    'ACME12345-1',
    'ACME-0',
    'ACME-01',
    'ACME-x',
    'ACME-12345678901234567890',
    'ACME-1 ',
    ' ACME-1',
    'ACME_1-1',
  ])('cannot have the key %j', (key) => {
    expect(isSegmentKey(key)).toBe(false);
  });

  it('is a list of nobody when it is made without rules', () => {
    expect(typeBy(null)).toBe('STATIC');
    expect(segment(null)).toEqual({
      id: '7',
      environmentId: 1,
      segmentKey: 'ACME-1',
      name: 'VIPs',
      description: null,
      type: 'STATIC',
      rules: null,
      status: 'ACTIVE',
      conditionCount: 0,
      memberCount: 0,
      isDue: false,
      evaluatedAt: null,
      createdAt: CREATED,
      updatedAt: CREATED,
    });
  });

  it('waits for its evaluation when it is made with rules', () => {
    const dynamic = segment('{}');
    expect(dynamic).toMatchObject({ type: 'DYNAMIC', memberCount: null, isDue: true });
    dynamic.evaluate(42, LATER);
    expect(dynamic).toMatchObject({ memberCount: 42, isDue: false, evaluatedAt: LATER, updatedAt: CREATED });
  });

  it('waits for its evaluation again when its rules are other ones, and for nothing else', () => {
    const dynamic = segment('{}');
    dynamic.evaluate(42, CREATED);
    expect(dynamic.change({ rules: '{}' }, LATER)).toBe(false);
    expect(dynamic).toMatchObject({ isDue: false, updatedAt: CREATED });
    expect(dynamic.change({ name: 'Others' }, LATER)).toBe(false);
    expect(dynamic).toMatchObject({ name: 'Others', isDue: false, updatedAt: LATER });
    expect(dynamic.change({ rules: '[]' }, LATER)).toBe(true);
    expect(dynamic).toMatchObject({ rules: '[]', isDue: true });
    expect(() => dynamic.change({ rules: null }, LATER)).toThrow();
    expect(dynamic.rules).toBe('[]');
  });

  it('can be renamed when it has no rules', () => {
    const list = segment(null);
    list.change({ name: 'Others' }, LATER);
    expect(list.name).toBe('Others');
  });

  it('has rules when it is DYNAMIC and none when it is STATIC', () => {
    expect(() => refuseRules('DYNAMIC', '{}')).not.toThrow();
    expect(() => refuseRules('STATIC', null)).not.toThrow();
    const refusal = (rules: string) => expect.objectContaining({ errors: { rules } });
    expect(() => refuseRules('DYNAMIC', null)).toThrow(refusal('is required for a DYNAMIC segment'));
    expect(() => refuseRules('STATIC', '{}')).toThrow(
      refusal('must be absent for a STATIC segment, whose members are added and removed'),
    );
  });
});
