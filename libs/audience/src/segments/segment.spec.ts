import { describe, expect, it } from '@jest/globals';
import { isSegmentKey, refuseRules } from './segment.js';

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
