import { describe, expect, it } from '@jest/globals';
import * as fc from '#testing/random/properties';
import { parseCustomFieldValue } from './custom-field-value.js';
import type { CustomFieldType } from './custom-field.js';

const options = ['a', 'b', 'R&D, Sales'].map((value) => ({ value, label: value.toUpperCase() }));
const parse = (type: CustomFieldType, input: unknown) => parseCustomFieldValue({ type, options }, input);

/** Every input in its string form and as native JSON, and what is stored of it. */
const VALID: readonly [CustomFieldType, unknown, unknown][] = [
  ['TEXT', 'pro', 'pro'],
  ['TEXT', '', ''],
  ['TEXT', ' Zoë 🎉 ', ' Zoë 🎉 '],
  ['TEXT', '🎉'.repeat(255), '🎉'.repeat(255)],
  ['LONG_TEXT', 'two\r\n\tlines', 'two\r\n\tlines'],
  ['LONG_TEXT', 'x'.repeat(10_000), 'x'.repeat(10_000)],
  ['NUMBER', 41, 41],
  ['NUMBER', '41', 41],
  ['NUMBER', ' -007 ', -7],
  ['NUMBER', 5.0, 5],
  ['NUMBER', -0, 0],
  ['NUMBER', '9007199254740991', 9007199254740991],
  ['NUMBER', -9007199254740991, -9007199254740991],
  ['DECIMAL', 12.5, 12.5],
  ['DECIMAL', '12.50', 12.5],
  ['DECIMAL', '-0.0', 0],
  ['DECIMAL', '999999999999999', 999999999999999],
  ['DECIMAL', '0.123456789012345', 0.123456789012345],
  ['DECIMAL', '00100.10', 100.1],
  ['DECIMAL', 1e-7, 1e-7],
  ['BOOLEAN', true, true],
  ['BOOLEAN', 'False', false],
  ['BOOLEAN', ' TRUE ', true],
  ['DATE', '2024-02-29', '2024-02-29'],
  ['DATE', '0001-01-01', '0001-01-01'],
  ['DATE', ' 9999-12-31 ', '9999-12-31'],
  ['DATETIME', '2026-11-21T06:00:00Z', '2026-11-21T06:00:00.000Z'],
  ['DATETIME', '2026-11-21T06:00:00.123456+05:30', '2026-11-21T00:30:00.123Z'],
  ['DATETIME', '2026-11-21t06:00z', '2026-11-21T06:00:00.000Z'],
  ['DATETIME', '2026-12-31T23:30:00-01:00', '2027-01-01T00:30:00.000Z'],
  ['EMAIL', ' Ada+x@Bücher.example ', 'Ada+x@Bücher.example'],
  ['URL', 'https://acme.example/a?b=c#d', 'https://acme.example/a?b=c#d'],
  ['URL', ' HTTP://bücher.example ', 'HTTP://bücher.example'],
  ['PHONE', '+49 (0)30 123-456', '+4930123456'],
  ['PHONE', '0044 20 7946 0958', '+442079460958'],
  ['PHONE', '+1 (212) 555.0100', '+12125550100'],
  ['SELECT', 'a', 'a'],
  ['SELECT', 'R&D, Sales', 'R&D, Sales'],
  ['MULTI_SELECT', ['b', 'a', 'b'], ['a', 'b']],
  ['MULTI_SELECT', [], []],
  ['MULTI_SELECT', '', []],
  ['MULTI_SELECT', 'b, a', ['a', 'b']],
  ['MULTI_SELECT', 'b;a', ['a', 'b']],
  ['MULTI_SELECT', 'b|a', ['a', 'b']],
  ['MULTI_SELECT', 'R&D, Sales', ['R&D, Sales']],
  ['MULTI_SELECT', '["R&D, Sales","a"]', ['a', 'R&D, Sales']],
];

const INVALID: readonly [CustomFieldType, readonly unknown[], string][] = [
  ['TEXT', [1, true, [], {}], 'must be a string'],
  ['TEXT', ['x'.repeat(256), '🎉'.repeat(256)], 'must be at most 255 characters'],
  ['TEXT', ['a\nb', 'a\u0000b', '\u0085'], 'must not contain control characters'],
  ['TEXT', ['\ud800'], 'is not valid Unicode'],
  ['LONG_TEXT', ['x'.repeat(10_001)], 'must be at most 10000 characters'],
  ['LONG_TEXT', ['a\u0000b'], 'must not contain control characters'],
  [
    'NUMBER',
    ['', ' ', '4.0', '1e3', '0x10', '٤', '4 1', 4.5, NaN, Infinity, true, [], {}],
    'must be an integer',
  ],
  [
    'NUMBER',
    ['9007199254740992', 9007199254740992, '-9007199254740993', 1e300],
    'must be between -9007199254740991 and 9007199254740991',
  ],
  ['DECIMAL', ['', '1,5', '.5', '5.', '1e3', 'NaN', '--1', NaN, Infinity, false, ['1']], 'must be a number'],
  [
    'DECIMAL',
    ['1234567890.1234567', 0.1 + 0.2, '1000000000000000', 1e21, '-1000000000000000'],
    'must have at most 15 digits',
  ],
  ['BOOLEAN', ['', 'yes', '1', 1, 0, [], 'truе'], 'must be true or false'],
  [
    'DATE',
    [
      '',
      '2026-02-29',
      '2026-13-01',
      '2026-1-1',
      '21.11.2026',
      '0000-01-01',
      '12026-01-01',
      '2026-11-21T00:00:00Z',
      20261121,
    ],
    'must be a date such as 2026-11-21',
  ],
  [
    'DATETIME',
    [
      '',
      '2026-11-21',
      '2026-11-21T06:00:00',
      '2026-02-30T06:00:00Z',
      '2026-11-21T24:00:00Z',
      '2026-11-21T23:59:60Z',
      '2026-11-21 06:00:00Z',
      '9999-12-31T23:30:00-01:00',
      '0001-01-01T00:00:00+01:00',
      1_795_240_800_000,
    ],
    'must be a date and time in ISO 8601 with a time zone',
  ],
  ['EMAIL', ['', 'nobody', 'a@b'.repeat(2)], 'is not an e-mail address'],
  ['EMAIL', [1], 'must be a string'],
  [
    'URL',
    [
      '',
      'acme.example',
      'ftp://acme.example',
      'javascript:alert(1)',
      'https:acme.example',
      'https:\\\\acme.example',
      'https://acme.example/a b',
      'https://',
      'https://acme.example/\u0000',
    ],
    'must be an http or https URL',
  ],
  ['URL', [`https://acme.example/${'x'.repeat(2_048)}`], 'must be at most 2048 characters'],
  [
    'PHONE',
    ['', '030 123456', '+0301234567', '+12', '+1234567890123456', '+49 30 12a', 'tel:+4930123456'],
    'must be an international phone number such as +4930123456',
  ],
  ['PHONE', [4930123456], 'must be a string'],
  ['SELECT', ['', 'A', 'c', 'a '], 'must be one of a, b, R&D, Sales'],
  ['SELECT', [1, ['a']], 'must be a string'],
  ['MULTI_SELECT', [['c'], 'a,c', ['a', 'A'], '["c"]'], 'must only contain values of a, b, R&D, Sales'],
  ['MULTI_SELECT', [1, {}, [1], '[1]', '["a"', '[', true], 'must be a list of strings'],
];

/** Sign, significant digits and power of ten of a decimal number. */
function significant(text: string): [string, string, number] {
  const [mantissa = '', exponent = '0'] = text.replace(/^-/, '').split('e');
  const [whole = '', fraction = ''] = mantissa.split('.');
  const digits = `${whole}${fraction}`.replace(/^0+/, '').replace(/0+$/, '');
  const zeros = /0*$/.exec(`${whole}${fraction}`)?.[0].length ?? 0;
  return digits === ''
    ? ['', '', 0]
    : [text.startsWith('-') ? '-' : '', digits, Number(exponent) - fraction.length + zeros];
}

describe('the value of a custom field', () => {
  it.each(VALID)('of %s takes %j as %j', (type, input, value) => {
    expect(parse(type, input)).toEqual({ value });
  });

  it.each(INVALID)('of %s refuses %j: %s', (type, inputs, fault) => {
    for (const input of inputs)
      expect({ input, ...parse(type, input) }).toMatchObject({ input, fault: expect.any(String) });
    expect(inputs.map((input) => parse(type, input))).toEqual(inputs.map(() => ({ fault })));
  });

  it.each([...new Set(VALID.map(([type]) => type))])('of %s is cleared by null', (type) => {
    expect(parse(type, null)).toEqual({ value: null });
  });

  it('is the same when it is read again, as it is or as text', () => {
    for (const [type, input] of VALID) {
      const first = parse(type, input);
      if ('fault' in first || first.value === null) throw new Error('It has a value.');
      expect(parse(type, first.value)).toEqual(first);
      const text = typeof first.value === 'string' ? first.value : JSON.stringify(first.value);
      if (text !== '1e-7') expect(parse(type, text)).toEqual(first);
    }
  });

  it('keeps every digit that it takes', () => {
    const decimals = fc
      .tuple(fc.boolean(), fc.integer({ min: 0, max: 999_999_999_999_999 }), fc.integer({ min: 0, max: 15 }))
      .map(([isNegative, digits, places]) => {
        const text = String(digits).padStart(places + 1, '0');
        const point = text.length - places;
        return `${isNegative ? '-' : ''}${text.slice(0, point)}${places > 0 ? `.${text.slice(point)}` : ''}`;
      });
    fc.assert(
      fc.property(decimals, (text) => {
        const parsed = parse('DECIMAL', text);
        expect(significant(JSON.stringify('value' in parsed ? parsed.value : parsed))).toEqual(
          significant(text),
        );
      }),
    );
    fc.assert(
      fc.property(fc.maxSafeInteger(), (number) => {
        expect(parse('NUMBER', String(number))).toEqual({ value: number === 0 ? 0 : number });
      }),
    );
  });

  it('of DATE and DATETIME has the order of time as text', () => {
    const moments = fc.date({
      min: new Date('0001-01-01T00:00:00Z'),
      max: new Date('9999-12-31T23:59:59.999Z'),
      noInvalidDate: true,
    });
    fc.assert(
      fc.property(moments, moments, fc.integer({ min: -11, max: 11 }), (first, second, hours) => {
        const text = (date: Date) => {
          const parsed = parse('DATETIME', date.toISOString());
          return 'value' in parsed ? String(parsed.value) : '';
        };
        expect(Math.sign(first.getTime() - second.getTime())).toBe(
          text(first) < text(second) ? -1 : text(first) > text(second) ? 1 : 0,
        );
        const local = new Date(first.getTime() + hours * 3_600_000);
        fc.pre(/^\d{4}-/.test(local.toISOString()) && !local.toISOString().startsWith('0000'));
        const offset = `${hours < 0 ? '-' : '+'}${String(Math.abs(hours)).padStart(2, '0')}:00`;
        expect(parse('DATETIME', local.toISOString().replace('Z', offset))).toEqual({
          value: first.toISOString(),
        });
      }),
    );
  });

  it('is never taken from what is nonsense, and never breaks on it', () => {
    fc.assert(
      fc.property(fc.constantFrom(...VALID.map(([type]) => type)), fc.anything(), (type, input) => {
        const parsed = parse(type, input);
        expect(
          'fault' in parsed ? typeof parsed.fault : parsed.value === null || JSON.stringify(parsed.value),
        ).toBeTruthy();
      }),
    );
  });
});
