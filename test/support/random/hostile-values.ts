/** Stands in a generated request for a number that JavaScript cannot write so: see `toJson`. */
export const rawNumber = (digits: string): string => `{{raw:${digits}}}`;
/** Stands for a text of so many characters, which would be too large to keep in thousands of generated requests. */
export const longText = (length: number): string => `{{long:${length}}}`;
/** Stands for JSON in a string that is nested so deeply. */
export const deepText = (depth: number): string => `{{deep:${depth}}}`;
/** Stands for a resource of that kind that is there when the request is sent. */
export const known = (kind: string, index: number): string => `{{known:${kind}:${index}}}`;

/** Texts that programs have stumbled over: encodings, other languages' syntax, numbers, dates, names of members. */
export const HOSTILE_TEXTS: readonly string[] = [
  '',
  ' ',
  '\u0000',
  'a\u0000b',
  '\ud800',
  '\udc00a',
  'a\ud83d',
  '\u202Egpj.exe',
  '\u2066\u200B\uFEFF\u00AD',
  'e\u0301',
  '\u00e9',
  '\ufdfa'.repeat(20),
  'Z\u0351\u036b\u0343\u036a\u0302\u036b\u033d',
  '👩‍👩‍👧‍👦',
  '\uffff\ufffe',
  'İıſK',
  'a\r\nBcc: victim@example.com',
  'a\nSet-Cookie: a=b',
  '%0d%0aLocation: https://evil.example',
  '\u2028\u2029\u0085\u000b',
  `' or 1=1 --`,
  `'; drop table audience.subscribers; --`,
  '" union select key_hash from access.api_keys --',
  '\\',
  '$1 $$ ${1+1} #{1+1} %s %n %d',
  "{{ 'a' | append: 'b' }}{% for i in (1..100000000) %}x{% endfor %}",
  '{% include "/etc/passwd" %}{{ subscriber.__proto__.constructor }}',
  '{{',
  '{% if',
  '<script>alert(1)</script><img src=x onerror=alert(1)>',
  '<!--<![CDATA[</style></title><svg/onload=alert(1)>',
  'javascript:alert(1)',
  'https://user:pass@127.0.0.1:1/%2e%2e//evil.example\\@x',
  'file:///etc/passwd',
  '../../../../etc/passwd',
  '..',
  '.',
  '%',
  '%ff',
  '%2e%2e%2f',
  '=cmd|" /C calc"!A1',
  '+1+1',
  '@SUM(1)',
  '-0',
  'NaN',
  'Infinity',
  '1e400',
  '0x10',
  '９',
  '9007199254740993',
  '-2147483649',
  '18446744073709551616',
  'true',
  'null',
  'undefined',
  '[object Object]',
  '__proto__',
  'constructor',
  'toString',
  'hasOwnProperty',
  '0000-01-01T00:00:00.000Z',
  '0000-01-01T00:00:00+14:00',
  '9999-12-31T23:59:59.999Z',
  '9999-12-31T23:59:59-14:00',
  '+275760-09-13T00:00:00.000Z',
  '-271821-04-20T00:00:00.000Z',
  '2026-02-30T00:00:00Z',
  '2026-11-21T24:00:00Z',
  '2016-12-31T23:59:60Z',
  '2026-11-21T06:00:00+99:99',
  '2026-11-21',
  'P1Y',
  'P99999999999Y',
  'PT0.000000000001S',
  'a@b',
  'a@[127.0.0.1]',
  '"a b"@example.com',
  'ada@example.com, eve@example.com',
  'ada@example.com\u0000',
  'ada@EXAMPLE.com.',
  `${'a'.repeat(64)}@${'b'.repeat(63)}.${'c'.repeat(63)}.${'d'.repeat(61)}.example`,
  'ada@xn--a.example',
  'ada@\u0430pple.example',
  '00000000-0000-0000-0000-000000000000',
  'ffffffff-ffff-ffff-ffff-ffffffffffff',
  'APIT-0',
  'APIT-00000000000000000000001',
  'APIT-99999999999999999999',
  'apit-1',
  'APIT-1\u0000',
  '[]',
  '{}',
  '[[',
  '{"__proto__":{"admin":true}}',
  '{"version":1,"where":{"and":[]}}',
  '{"version":1,"where":{"field":"__proto__","op":"eq","value":1e400}}',
  '{"blocks":[{"type":"columns","columns":[]},null]}',
  '(a+)+$',
  'a'.repeat(30) + '!',
  longText(1000),
];

export const LARGE_TEXTS: readonly string[] = [
  longText(70_000),
  longText(500_000),
  longText(500_001),
  longText(10_000_000),
  deepText(1_000),
  deepText(60_000),
];

export const HOSTILE_NUMBERS: readonly (number | string)[] = [
  0,
  rawNumber('-0'),
  rawNumber('-0.0'),
  -1,
  1,
  0.1,
  0.30000000000000004,
  rawNumber('1E2'),
  100,
  101,
  2 ** 31 - 1,
  2 ** 31,
  -(2 ** 31) - 1,
  Number.MAX_SAFE_INTEGER,
  rawNumber('9007199254740993'),
  rawNumber('9223372036854775808'),
  rawNumber('-9223372036854775809'),
  rawNumber(`1${'0'.repeat(400)}`),
  rawNumber('1e400'),
  rawNumber('-1e400'),
  1e308,
  5e-324,
  rawNumber(`0.${'1'.repeat(2_000)}`),
];

/** Names that a program may take for a member of its own. */
export const HOSTILE_NAMES: readonly string[] = [
  '__proto__',
  'constructor',
  'prototype',
  'toString',
  'valueOf',
  'toJSON',
  'then',
  'hasOwnProperty',
  'length',
  '',
  ' ',
  '\u0000',
  '\ud800',
  'a.b[0]',
  '$ref',
  'id',
  'environment_id',
  'é',
  'x'.repeat(300),
];

/** Bodies that are no valid JSON, or more of it than a reader should follow. */
export const RAW_BODIES: readonly string[] = [
  '',
  ' ',
  '{',
  'null',
  'true',
  '0',
  '""',
  '[]',
  '{}',
  '[{}]',
  '\ufeff{}',
  '{"name":"a","name":"b"}',
  '{"__proto__":{"name":"x"},"constructor":{"prototype":{"name":"x"}}}',
  '{"name":"\\ud800\\u0000"}',
  '{"name":NaN}',
  "{'name':'x'}",
  '{"name":"x",}',
  '{"name":"x"}{"name":"y"}',
  '{"name":"\u0001"}',
  '{{deep:100000}}',
  `${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  `{"name":"x",${Array.from({ length: 20_000 }, (_, index) => `"k${index}":0`).join(',')}}`,
  'name=x&name=y',
  '\u0000',
];

const PLACEHOLDER = /\{\{(long|deep|known):([\w-]+)(?::(\d+))?\}\}/g;
const RAW_NUMBER = /"\{\{raw:([^}]+)\}\}"/g;

/** Puts what they stand for in the place of the placeholders of a text. `pick` names a resource that is there. */
export function fillIn(text: string, pick: (kind: string, index: number) => string): string {
  return text.replaceAll(PLACEHOLDER, (_all, kind: string, argument: string, index?: string) => {
    if (kind === 'long') return 'x'.repeat(Number(argument));
    if (kind === 'deep') return '['.repeat(Number(argument)) + ']'.repeat(Number(argument));
    return pick(argument, Number(index));
  });
}

/** JSON of a generated value, with the numbers that stand in it as raw digits. */
export function toJson(value: unknown): string {
  return (JSON.stringify(value) ?? 'null').replaceAll(RAW_NUMBER, '$1');
}
