import Negotiator from 'negotiator';
import { z } from 'zod';
import { parseSubscriberRef, type SubscriberRef } from '#audience';
import type { Config } from '#platform';
import { emailField, partProblem, readInput, storedTextFault } from '#platform/http';
import {
  type DomainError,
  DomainValidationError,
  isTimeZone,
  lengthOf,
  LOCALE_FAULT,
  type MetadataPatch,
  parseEmailAddress,
  parseLocale,
  parseLocalTime,
  TIME_ZONE_FAULT,
} from '#kernel';

/** C0, DEL and C1 (ECMA-48): in a header or a subject they would inject another line. */
const CONTROL = /\p{Cc}/u;
const CONTROL_BUT_LAYOUT = /[^\P{Cc}\t\n\r]/u;

function textField(max: number, refused: RegExp) {
  return z
    .string()
    .meta({ maxLength: max })
    .refine((value) => lengthOf(value) <= max, `must be at most ${max} characters`)
    .refine((value) => !refused.test(value), 'must not contain control characters')
    .refine((value) => value.isWellFormed(), 'is not valid Unicode');
}

/** Text on one line, of at most `max` characters. */
export function line(max: number) {
  return textField(max, CONTROL);
}

/** Text on one line with more than spaces. */
export function requiredLine(max: number) {
  return line(max)
    .refine((value) => value.trim() !== '', 'must not be empty')
    .meta({ minLength: 1, maxLength: max });
}

/** Text that may have tabs and line breaks, of at most `max` characters. */
export function prose(max: number) {
  return textField(max, CONTROL_BUT_LAYOUT);
}

/** A text that `faultOf` checks. */
export function checked(faultOf: (text: string) => string | null) {
  return z.string().superRefine((text, context) => {
    const message = faultOf(text);
    if (message !== null) context.addIssue({ code: 'custom', message });
  });
}

/** An e-mail address, which the output has as text. */
export const addressField = emailField.transform(({ value }) => value);

/** The key of an address to look for; text that is none matches nothing. */
export function addressKey(email: string): string {
  const parsed = parseEmailAddress(email);
  return 'address' in parsed ? parsed.address.key : email.trim().toLowerCase();
}

/** A document of our own as JSON in a string, of at most `max` characters. */
export function jsonText(max: number) {
  return z
    .string()
    .max(max)
    .refine((value) => value.isWellFormed(), 'is not valid Unicode');
}

/** An optional field; null counts as absent. */
export function leftOut<Schema extends z.ZodType>(schema: Schema) {
  return schema.nullish().transform((value) => value ?? undefined);
}

/** An optional field with a default; null counts as absent. */
export function defaulted<Schema extends z.ZodType>(
  schema: Schema,
  byDefault: z.output<Schema>,
  description: string,
) {
  return schema
    .nullish()
    .transform((value) => value ?? byDefault)
    .meta({ default: byDefault, description });
}

/** An object of a request, where a check looks at it beside faults of its fields. */
export const isObject = (value: unknown): boolean =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

/** The API writes years with four digits (RFC 3339 §1), so the year in UTC must have four too. */
function hasFourDigitYear(time: Date): boolean {
  return /^\d{4}-/.test(time.toISOString());
}

/** A point in time in a request: ISO 8601 with a time zone. */
export const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .refine(hasFourDigitYear, 'must be between the years 0 and 9999');

/** A local time in a request: a date and time of day without an offset. */
export const localTime = z.string().transform((text, context) => {
  const local = parseLocalTime(text);
  if (local === null) context.addIssue('must be a local time such as 2027-01-05T09:00');
  return local ?? z.NEVER;
});

/** A language tag, which the output has as it is usually written. */
export const localeField = z
  .string()
  .meta({ description: 'A language by BCP 47, such as de or pt-BR.', example: 'de-AT' })
  .transform((input, context): string => {
    const locale = parseLocale(input);
    if (locale !== null) return locale;
    context.issues.push({ code: 'custom', message: LOCALE_FAULT, input });
    return z.NEVER;
  });

export const timeZoneField = z
  .string()
  .refine(isTimeZone, TIME_ZONE_FAULT)
  .meta({ description: 'A time zone by its IANA name.', example: 'Europe/Berlin' });

/** A path parameter that names a person: `@Param('email', { schema: subscriberParam })`. */
export const subscriberParam = z
  .string()
  .meta({
    description:
      'The e-mail address; or `ext:` and the `externalId`, the `id` or the `subscriberKey`, which stay when the address changes.',
    example: 'ada@example.com',
  })
  .transform((input, context): SubscriberRef => {
    const result = parseSubscriberRef(input);
    if ('ref' in result) return result.ref;
    context.issues.push({ code: 'custom', message: result.fault, input });
    return z.NEVER;
  });

/** More than any browser sends. */
const MOST_LANGUAGES = 20;
const MAX_TRANSLATIONS = 50;

/** The languages that an `Accept-Language` header asks for, best first; null stands for what is no language. */
export function acceptedLocales(header: string | undefined): (string | null)[] {
  const wanted = new Negotiator({ headers: { 'accept-language': header ?? '' } }).languages();
  return wanted.slice(0, MOST_LANGUAGES).map(parseLocale);
}

/**
 * Texts in other languages: locale → `text`; null is none. `what` they are and `who` gets them: for the document.
 * The output has the locales as they are usually written.
 */
export function translations<Text extends z.ZodType>(text: Text, what: string, who = '') {
  return z
    .record(z.string(), text)
    .nullish()
    .meta({
      description:
        `${what} by locale (BCP 47), at most ${MAX_TRANSLATIONS}; PATCH replaces them all. ${who}`.trim(),
    })
    .transform((input, context) => {
      if (input === undefined) return undefined;
      const read: Record<string, z.output<Text>> = {};
      const fault = (message: string, ...path: string[]) =>
        context.issues.push({ code: 'custom', message, path, input });
      const entries = Object.entries(input ?? {});
      if (entries.length > MAX_TRANSLATIONS) fault(`must have at most ${MAX_TRANSLATIONS} languages`);
      for (const [tag, each] of entries) {
        const locale = parseLocale(tag);
        if (locale === null) fault(LOCALE_FAULT, tag);
        else if (locale in read) fault(`is ${locale} again`, tag);
        else read[locale] = each;
      }
      return read;
    });
}

const MAX_DEPTH = 20;

/** A JSON object of at most `maxBytes` that PostgreSQL stores and returns unchanged. */
export function jsonObject(maxBytes: number) {
  return z.record(z.string(), z.unknown()).superRefine((value, context) => {
    const fault =
      Buffer.byteLength(JSON.stringify(value)) > maxBytes
        ? `must be at most ${maxBytes / 1024} KB`
        : faultIn(value);
    if (fault !== null) context.addIssue({ code: 'custom', message: fault });
  });
}

/** The reason why PostgreSQL could not store the value as JSON and return it unchanged, or null. */
function faultIn(value: unknown, depth = 0): string | null {
  if (depth > MAX_DEPTH) return `must not be nested more than ${MAX_DEPTH} levels deep`;
  if (typeof value === 'number' && !Number.isFinite(value))
    return 'must not contain a number that is too large';
  if (Number.isInteger(value) && !Number.isSafeInteger(value))
    return 'must not contain a whole number beyond 9007199254740991, which JSON does not keep: give it as a string';
  if (typeof value === 'string') return storedTextFault(value);
  if (typeof value !== 'object' || value === null) return null;
  for (const [key, item] of Object.entries(value)) {
    const fault = storedTextFault(key) ?? faultIn(item, depth + 1);
    if (fault !== null) return fault;
  }
  return null;
}

const MAX_METADATA_KEY = 40;
const MAX_METADATA_VALUE = 500;

/** Metadata to set or to change: strings by key, null for none. */
export const metadataField = leftOut(
  z
    .record(z.string(), z.unknown())
    .superRefine((given, context) => {
      for (const [key, value] of Object.entries(given)) {
        const fault = metadataFault(key, value ?? '');
        if (fault !== null) context.addIssue({ code: 'custom', path: [key], message: fault });
      }
    })
    .transform((given) => given as MetadataPatch),
).meta({
  description:
    'Strings of yours by key, at most 20; a key has at most 40 characters, a value 500. Mailwright shows them here and in webhooks, ' +
    'and does nothing else with them. PATCH changes the keys that it names; null removes one, and null for all of it changes nothing.',
  propertyNames: { minLength: 1, maxLength: MAX_METADATA_KEY },
  additionalProperties: { type: ['string', 'null'], maxLength: MAX_METADATA_VALUE },
  example: { crmId: '4711' },
});

/** Metadata in an answer. */
export const metadataView = z
  .record(z.string(), z.string())
  .meta({ description: 'Strings of yours by key.' });

function metadataFault(key: string, value: unknown): string | null {
  if (key === '' || lengthOf(key) > MAX_METADATA_KEY)
    return `must have a key of 1 to ${MAX_METADATA_KEY} characters`;
  if (typeof value !== 'string') return 'must be a string';
  if (lengthOf(value) > MAX_METADATA_VALUE) return `must be at most ${MAX_METADATA_VALUE} characters`;
  return storedTextFault(key) ?? storedTextFault(value);
}

/** The problem of a part of a request, `example` a path in its `errors`. */
export function partProblemView(example: string) {
  return z.object({
    type: z.string().meta({ format: 'uri' }),
    title: z.string(),
    status: z.int(),
    detail: z.string().optional(),
    errors: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: `Messages by field path, such as \`${example}\`.` }),
  });
}

/** The results of a batch, one for each of its parts in order: `shape` of what was done, or the problem of what was not. */
export function batchResults<Shape extends z.ZodRawShape>(list: string, shape: Shape, id: string) {
  const problem = partProblemView(`${list}[3].email`).meta({ id: `${id}Problem` });
  return z
    .object({
      results: z
        .array(
          z.object({
            index: z.int().meta({ description: `The place in \`${list}\`, which begins with 0.` }),
            ...shape,
            problem: problem.optional().meta({ description: 'Why nothing was done.' }),
          }),
        )
        .meta({ description: 'A result for each, in order.' }),
    })
    .meta({ id });
}

/**
 * Does a batch of parts that count each for itself: those that do not fit `schema`, and those of which `work` returns an error, have a
 * problem in their place.
 */
export async function eachOf<Schema extends z.ZodType, Done extends object>(
  {
    list,
    parts,
    schema,
    config,
  }: {
    readonly list: string;
    readonly parts: readonly unknown[];
    readonly schema: Schema;
    readonly config: Pick<Config, 'PUBLIC_URL'>;
  },
  work: (valid: readonly z.output<Schema>[]) => Promise<readonly (Done | DomainError)[]>,
) {
  const read = parts.map((part, index) => readInput(schema, part, `${list}[${index}]`));
  const valid = read.flatMap((one) => ('errors' in one ? [] : [one.data]));
  const done = (valid.length === 0 ? [] : await work(valid)).values();
  const results = read.map((one, index) => {
    const outcome = 'errors' in one ? unreadable(one.errors) : done.next().value!;
    if (!(outcome instanceof Error)) return { index, ...outcome };
    const problem = partProblem(outcome, config);
    return { index, problem: { ...problem, ...named(problem, `${list}[${index}]`, 'errors' in one) } };
  });
  return { results };
}

const unreadable = (errors: Readonly<Record<string, string>>) =>
  new DomainValidationError(errors, 'One or more fields are not valid.');

/** Errors of the domain name the field alone. */
function named(problem: object, place: string, isNamed: boolean) {
  if (isNamed || !('errors' in problem)) return {};
  const errors = Object.entries(problem.errors as Record<string, string>);
  return { errors: Object.fromEntries(errors.map(([field, fault]) => [`${place}.${field}`, fault])) };
}
