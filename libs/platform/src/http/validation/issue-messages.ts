import type { z } from 'zod';
import { counted } from '#kernel';

const TYPES: Readonly<Record<string, string>> = {
  string: 'a string',
  number: 'a number',
  int: 'an integer',
  boolean: 'true or false',
  object: 'an object',
  record: 'an object',
  array: 'a list',
  null: 'null',
  date: 'a date',
};

const FORMATS: Readonly<Record<string, string>> = {
  datetime: 'must be a date and time in ISO 8601 with a time zone',
  date: 'must be a date such as 2026-11-21',
  email: 'is not an e-mail address',
  uuid: 'must be a UUID',
  url: 'must be a URL',
  ipv4: 'must be an IP address',
  ipv6: 'must be an IP address',
  json_string: 'is not JSON',
  regex: 'does not have the required form',
};

/** What is wrong with a field, for the eyes of the caller. A message that a schema gives itself comes first. */
export function issueMessage(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return `must be ${TYPES[issue.format === 'safeint' ? 'int' : issue.expected] ?? `of type ${issue.expected}`}`;
    case 'invalid_value':
      return issue.values.length === 1
        ? `must be ${String(issue.values[0])}`
        : `must be one of ${issue.values.map(String).join(', ')}`;
    case 'too_big':
      return tooBig(issue.origin, issue.maximum, issue.inclusive ?? true);
    case 'too_small':
      return tooSmall(issue.origin, issue.minimum, issue.inclusive ?? true);
    case 'invalid_format':
      return FORMATS[issue.format] ?? 'does not have the required form';
    case 'not_multiple_of':
      return `must be a multiple of ${issue.divisor}`;
    case 'unrecognized_keys':
      return 'is not a known field';
    default:
      return issue.message ?? 'is not valid';
  }
}

function tooBig(origin: string, maximum: number | bigint, inclusive: boolean): string {
  if (origin === 'string') return `must be at most ${maximum} characters`;
  if (origin === 'array' || origin === 'set') return `must have at most ${counted(maximum, 'item')}`;
  return inclusive ? `must be at most ${maximum}` : `must be less than ${maximum}`;
}

function tooSmall(origin: string, minimum: number | bigint, inclusive: boolean): string {
  if (origin === 'string')
    return minimum <= 1 ? 'must not be empty' : `must be at least ${minimum} characters`;
  if (origin === 'array' || origin === 'set') return `must have at least ${counted(minimum, 'item')}`;
  return inclusive ? `must be at least ${minimum}` : `must be greater than ${minimum}`;
}
