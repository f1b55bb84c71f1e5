import { z } from 'zod';
import { IMPORT_CONFLICTS, IMPORT_STATUSES, SUPPRESSION_REASONS } from '#audience';
import { int64, pageOf, parseInput, strictBody, timestamp, uuid } from '#platform/http';
import { defaulted, leftOut } from '../fields.js';
import { importedProof } from './consents.dto.js';

const MAX_ROWS = 10_000;

// Not a default of the document: generators of clients refuse an object as the default of what may be null.
const columnMapping = z
  .record(z.string(), z.string().nullable())
  .nullish()
  .transform((value) => value ?? {})
  .meta({ description: 'Column name → field name; null leaves the column out.' });

const options = {
  topicKeys: z.array(z.string()).min(1).max(100),
  consent: importedProof,
  onConflict: defaulted(
    z.enum(IMPORT_CONFLICTS),
    'UPSERT',
    'What to do with a row whose address already belongs to a subscriber: UPSERT changes the fields in the row, SKIP ignores the row.',
  ),
  resubscribe: defaulted(
    z.boolean(),
    false,
    'Whether people who unsubscribed from one of the topics are subscribed to it again. Only where they asked for that: otherwise they stay unsubscribed, also after they were deleted (for 365 days), and the row says so.',
  ),
  mapping: columnMapping,
};

const row = z.looseObject({ customFields: leftOut(z.record(z.string(), z.unknown())) }).meta({
  description:
    'Fields by name: email, externalId, firstName, lastName, phone, locale, timeZone and keys of custom fields.',
});

/** The options that come with CSV, in the query. */
export const csvImportOptions = strictBody(options);

export const importBody = strictBody({ rows: z.array(row).min(1).max(MAX_ROWS), ...options }).meta({
  id: 'CreateImport',
});

const CSV_ONLY = 'With CSV:';
const text = (what: string) =>
  z
    .string()
    .optional()
    .meta({ description: `${CSV_ONLY} ${what}.` });

/** The options of a CSV import. A JSON import has them in its body. */
export const importQuery = z.object({
  topicKeys: z
    .union([z.string(), z.array(z.string())])
    .optional()
    .meta({ description: `${CSV_ONLY} topics, separated by commas, or the parameter repeated.` }),
  consent: text(
    'how the consent was given, as JSON; or one parameter for each part, such as `consent.source`',
  ),
  'consent.source': text('where the consent was given'),
  'consent.sourceUrl': text('the page with the form'),
  'consent.ipAddress': text('the IP address from which the consent was given'),
  'consent.userAgent': text('the browser in which the consent was given'),
  'consent.consentText': text('the words that the person agreed to'),
  'consent.formVersion': text('the version of the form'),
  onConflict: text('UPSERT (the default) or SKIP'),
  resubscribe: text(
    'true where people who unsubscribed from one of the topics asked to be subscribed again; false by default',
  ),
  mapping: text('JSON: column name → field name, or null to leave the column out'),
});

/** The options of a file of addresses to suppress, in the query. */
export const suppressionImportQuery = z.object({
  reason: defaulted(
    z.enum(SUPPRESSION_REASONS),
    'GLOBAL_UNSUBSCRIBE',
    'Of rows that have none of their own.',
  ),
  mapping: z
    .string()
    .optional()
    .meta({ description: 'JSON: column name → field name, or null to leave the column out.' }),
});

/** The mapping as it is in the query. */
export const mappingOf = (json: string | undefined) =>
  parseInput(z.object({ mapping: columnMapping }), { mapping: json === undefined ? null : parsed(json) });

const CONSENT_PREFIX = 'consent.';

/** The options in the shape of a JSON body, not yet validated. */
export function optionsOf(query: z.output<typeof importQuery>): Record<string, unknown> {
  const { topicKeys, onConflict, resubscribe, mapping, consent, ...parts } = query;
  return {
    ...(topicKeys === undefined ? {} : { topicKeys: [topicKeys].flat().flatMap(withoutCommas) }),
    consent: consentOf(consent === undefined ? {} : parsed(consent), parts),
    ...(onConflict === undefined ? {} : { onConflict }),
    ...(resubscribe === undefined ? {} : { resubscribe: parsed(resubscribe) }),
    ...(mapping === undefined ? {} : { mapping: parsed(mapping) }),
  };
}

/** Merges the JSON consent with its parts from single parameters. The schema refuses what is not an object. */
function consentOf(json: unknown, parts: Readonly<Record<string, string | undefined>>): unknown {
  if (typeof json !== 'object' || json === null || Array.isArray(json)) return json;
  const given = Object.entries(parts).filter(([, value]) => value !== undefined);
  return {
    ...json,
    ...Object.fromEntries(given.map(([name, value]) => [name.slice(CONSENT_PREFIX.length), value])),
  };
}

function withoutCommas(keys: string): string[] {
  return keys
    .split(',')
    .map((key) => key.trim())
    .filter((key) => key !== '');
}

/** Returns text that is not JSON as it is; the schema refuses it. */
function parsed(json: string): unknown {
  try {
    return JSON.parse(json);
  } catch {
    return json;
  }
}

const counts = z
  .object({ total: int64, created: int64, updated: int64, skipped: int64, failed: int64 })
  .meta({ id: 'ImportCounts' });

const suppressionCounts = z
  .object({
    total: int64,
    suppressed: int64,
    skipped: int64.meta({
      description: 'Suppressed before, or named in an earlier row: at most, more mail is barred.',
    }),
    failed: int64,
  })
  .meta({ id: 'SuppressionImportCounts' });

export const acceptedImportView = z
  .object({ id: uuid, status: z.enum(IMPORT_STATUSES), counts })
  .meta({ id: 'AcceptedImport' });

export const importView = z
  .object({
    id: uuid,
    status: z.enum(IMPORT_STATUSES),
    counts,
    failureReason: z.string().nullable(),
    createdAt: timestamp,
    completedAt: timestamp.nullable(),
  })
  .meta({ id: 'Import' });

export const acceptedSuppressionImportView = acceptedImportView
  .omit({ counts: true })
  .extend({ counts: suppressionCounts })
  .meta({ id: 'AcceptedSuppressionImport' });

export const suppressionImportView = importView
  .omit({ counts: true })
  .extend({ counts: suppressionCounts })
  .meta({ id: 'SuppressionImport' });

/** An import of addresses to suppress, as clients see it. */
export function shownSuppressions<View extends Pick<z.output<typeof importView>, 'counts'>>({
  counts: { total, created, skipped, failed },
  ...view
}: View) {
  return { ...view, counts: { total, suppressed: created, skipped, failed } };
}

const importErrorView = z
  .object({
    row: int64.meta({
      description:
        'Counted from 1, without the header and empty lines; 0 where it is about the whole import, such as `consent`.',
    }),
    line: int64.nullable().meta({
      description: 'The line of the file in which the row begins, counted from 1; null for a row of a list.',
    }),
    email: z.string().nullable().meta({ description: 'Null when the row has no valid address.' }),
    errors: z.record(z.string(), z.string()),
  })
  .meta({ id: 'ImportError' });

export const importErrorPage = pageOf(importErrorView, 'ImportErrorPage');
