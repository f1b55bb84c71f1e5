import { Readable } from 'node:stream';
import { setImmediate as nextTurn } from 'node:timers/promises';
import type { ArgumentMetadata, PipeTransform } from '@nestjs/common';
import { z } from 'zod';
import { counted, type EmailAddress, parseEmailAddress } from '#kernel';
import { logContext } from '../../logger.js';
import { invalidRequest } from './problem.js';

/** RFC 6531 addresses, too, which JSON Schema's `email` excludes (draft 2020-12 validation §7.3.2). */
const EMAIL = { format: 'idn-email', example: 'ada@example.com' } as const;

/** A body field that holds an e-mail address; the output is the kernel's `EmailAddress`. */
export const emailField = z
  .string()
  .meta(EMAIL)
  .transform((input, context): EmailAddress => {
    const result = parseEmailAddress(input);
    if ('address' in result) return result.address;
    context.issues.push({ code: 'custom', message: result.fault, input });
    return z.NEVER;
  });

/** An e-mail address in an answer, as it was given. */
export const emailText = z.string().meta(EMAIL);

/** Fault of a text that PostgreSQL cannot hold; null when it can. */
export function storedTextFault(text: string): string | null {
  if (!text.isWellFormed()) return 'must contain valid Unicode only';
  return text.includes('\0') ? 'must not contain a NUL character' : null;
}

/** A point in time in an answer: handlers return a Date, which is written as ISO 8601 in UTC with milliseconds and `Z`. */
export const timestamp = z
  .date()
  .transform((at) => at.toISOString())
  .pipe(z.string().meta({ format: 'date-time', example: '2026-11-21T06:00:00.000Z' }));

/** A whole number of 64 bits in an answer, written as a JSON number. */
export const int64 = z.int().meta({ format: 'int64' });

/** A UUID in an answer. */
export const uuid = z.string().meta({ format: 'uuid', example: '019aa3b5-0000-7000-8000-000000000000' });

/** The schema of a JSON body: an object whose unknown properties are refused, each as "is not a known field". */
export function strictBody<Shape extends z.core.$ZodLooseShape>(shape: Shape) {
  return z.strictObject(shape);
}

/**
 * Gives handlers the output of the schemas of `@Body`, `@Query` and `@Param`, or reports all wrong fields of path, query and body
 * at once. A streamed body is handed on unread: its schema is that of the operation's JSON.
 */
export class RequestValidationPipe implements PipeTransform {
  /** Errors by the log context, which all parts of one request have in common. */
  readonly #errors = new WeakMap<object, Record<string, string>>();

  transform(value: unknown, { schema, type, data }: ArgumentMetadata): unknown {
    if (!(schema instanceof z.ZodType) || (type === 'body' && value instanceof Readable)) return value;
    const result =
      type === 'body' ? readInput(schema, orEmpty(schema, value)) : readInput(schema, value, data ?? '');
    if ('data' in result) return result.data;
    return this.#refuse(type === 'query' ? namingRepeated(result.errors, value) : result.errors);
  }

  /** Waits for the other parts: Nest starts the pipes of all of them in the same turn. */
  async #refuse(errors: Record<string, string>): Promise<never> {
    const request = logContext.getStore();
    const all = request === undefined ? errors : { ...this.#errors.get(request), ...errors };
    if (request !== undefined) this.#errors.set(request, all);
    await nextTurn();
    throw invalidRequest((request && this.#errors.get(request)) ?? all);
  }
}

/** The output of `schema` for a body that a handler reads itself; throws the problem that names every wrong or missing field. */
export function validBody<Schema extends z.ZodType>(schema: Schema, body: unknown): z.output<Schema> {
  return parseInput(schema, orEmpty(schema, body));
}

/** An empty body in place of none, where fields are asked for or none is required. */
function orEmpty(schema: z.ZodType, body: unknown): unknown {
  if (body !== undefined) return body;
  return schema instanceof z.ZodObject || schema.safeParse({}).success ? {} : body;
}

/** The schema's output for some input, or all its errors. `root` is the name of the whole input. */
export function readInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  root = '',
): { readonly data: z.output<Schema> } | { readonly errors: Record<string, string> } {
  const result = schema.safeParse(input, { error: issueMessage });
  return result.success ? { data: result.data } : { errors: fieldErrors(result.error.issues, root) };
}

/** All errors of some input; none without a schema. */
export function inputErrors(schema: z.ZodType | undefined, input: unknown): Record<string, string> {
  if (schema === undefined) return {};
  const result = readInput(schema, input);
  return 'errors' in result ? result.errors : {};
}

/** All errors of a query; none without a schema. */
export function queryErrors(schema: z.ZodType | undefined, query: unknown): Record<string, string> {
  return namingRepeated(inputErrors(schema, query), query);
}

/** A parameter that is given more than once is a list, which is no word for the caller. */
function namingRepeated(errors: Readonly<Record<string, string>>, query: unknown): Record<string, string> {
  const given = query as Readonly<Record<string, unknown>>;
  const named = Object.entries(errors).map(([name, fault]) => [
    name,
    Array.isArray(given[name]) ? 'must be given once' : fault,
  ]);
  return Object.fromEntries(named) as Record<string, string>;
}

/** The schema's output for some input; throws a 400 that names all its errors. */
export function parseInput<Schema extends z.ZodType>(
  schema: Schema,
  input: unknown,
  root = '',
): z.output<Schema> {
  const result = readInput(schema, input, root);
  if ('data' in result) return result.data;
  throw invalidRequest(result.errors);
}

/** Name of the whole body in `errors`, where none of its fields is wrong. */
export const WHOLE_BODY = 'body';

/** Errors by dotted field path (`options[1].value`); the first message of a field counts. */
export function fieldErrors(issues: readonly z.core.$ZodIssue[], root = ''): Record<string, string> {
  const errors = new Map<string, string>();
  const add = (path: readonly PropertyKey[], message: string): void => {
    const field = fieldPath(path, root);
    if (!errors.has(field)) errors.set(field, message);
  };
  for (const issue of issues.toSorted((one, other) => rank(one) - rank(other))) {
    if (issue.code === 'unrecognized_keys')
      for (const key of issue.keys) add([...issue.path, key], issue.message);
    else add(issue.path, issue.message);
  }
  return Object.fromEntries(errors);
}

/** Bounds of whole numbers in JavaScript come last: a field's own say more. */
function rank(issue: z.core.$ZodIssue): number {
  return (issue.code === 'too_big' || issue.code === 'too_small') && issue.origin === 'int' ? 1 : 0;
}

function fieldPath(path: readonly PropertyKey[], root: string): string {
  const text = path.reduce<string>((prefix, part) => {
    if (typeof part === 'number') return `${prefix}[${part}]`;
    return prefix === '' ? String(part) : `${prefix}.${String(part)}`;
  }, root);
  return text === '' ? WHOLE_BODY : text;
}

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

/** Fault of a field in words for the caller. A schema's own message comes first. */
export function issueMessage(issue: z.core.$ZodRawIssue): string {
  if (issue.input === undefined && issue.code !== 'custom') return 'is required';
  switch (issue.code) {
    case 'invalid_type':
      return (
        FORMATS[formatOf(issue)] ??
        `must be ${TYPES[issue.format === 'safeint' ? 'int' : issue.expected] ?? `of type ${issue.expected}`}`
      );
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

/** Format of the text that another type was sent for. */
function formatOf({ inst }: z.core.$ZodRawIssue): string {
  return inst instanceof z.core.$ZodStringFormat ? inst._zod.def.format : '';
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
