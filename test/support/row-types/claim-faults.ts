import type { DescribedColumn, Describer } from './described-statements.js';
import type { RecordedStatement, Template } from './recorded-statements.js';
import type { ClaimedKinds, RowClaim } from './row-claims.js';

/** The result of holding the claims of the code against statements that were made of them. */
export interface CheckedClaims {
  /** `libs/…/file.ts:12 name: is string, claimed number`. */
  readonly faults: ReadonlySet<string>;
  /** Claims of templates that are in none of the statements. */
  readonly unseen: readonly RowClaim[];
  /** Exceptions that none of them needs. */
  readonly unneeded: readonly string[];
}

/**
 * Columns that may be null, and why they are not in the rows of a file, of which PostgreSQL knows nothing. One that is no longer
 * needed is told.
 */
const NOT_NULL: Readonly<Record<string, string>> = {
  'libs/audience/src/imports/imported-subscribers.repository.ts externalId': 'where it is one of the wanted',
  'libs/audience/src/recipients.query.ts zone': 'where it is not null',
  'libs/audience/src/waits.service.ts rules': 'where it is not null',
  'libs/audience/src/segments/segment-uses.query.ts rules': 'where they name a key',
  'libs/messaging/src/automations/runs/run.repository.ts dueAt': 'where it is over',
  'libs/messaging/src/automations/runs/run.repository.ts subscriberId':
    'an erased person has no run that is due',
  'libs/messaging/src/automations/runs/webhook-caller.job.ts leasedUntil': 'set by the claim',
  'libs/messaging/src/automations/runs/webhook-caller.job.ts subscriberId':
    'an erased person has no run that is due',
  'libs/messaging/src/messages/message-acceptance.service.ts requestPlace':
    'a message with the key of a request has its place in it',
  'libs/messaging/src/reports/writing/report-facts.query.ts queuedAt': 'where it is not null',
  'libs/messaging/src/sending/engine/delivery-claims.query.ts leaseToken': 'set by the claim',
  'libs/webhooks/src/event-log.query.ts sequence': 'where it is not null',
  'libs/webhooks/src/webhook-delivery.repository.ts sequence': 'where it is not null',
};

/** Holds claims against what PostgreSQL says of the rows. */
export async function checkClaims(
  claims: readonly RowClaim[],
  statements: readonly RecordedStatement[],
  describer: Describer,
): Promise<CheckedClaims> {
  const byTemplate = Map.groupBy(claims, ({ template }) => keyOf(template));
  const claimsOf = (template: Template | undefined) =>
    template === undefined ? [] : (byTemplate.get(keyOf(template)) ?? []);
  const faults = new Set<string>();
  const known = new Set<string>();
  const seen = new Set<RowClaim>();
  for (const statement of statements) {
    for (const claim of statement.inner.flatMap(claimsOf)) seen.add(claim);
    const rows = claimsOf(statement.template).filter(({ columns }) => columns !== null);
    const values = statement.columns.filter(({ template }) => claimsOf(template).length > 0);
    if (rows.length + values.length === 0) continue;
    const described = await describer.describe(statement.text).catch((error: unknown) => String(error));
    if (typeof described === 'string') {
      if (OWN_TABLE.test(described)) continue;
      for (const { place } of rows) faults.add(`${place}: ${described}`);
      continue;
    }
    const byName = new Map(
      described.map((column) => [statement.isCamelCased ? camelCase(column.name) : column.name, column]),
    );
    const hasOptionalRows = /\b(?:left|right|full) (?:outer )?join\b/i.test(statement.text);
    const compare = (place: string, name: string, kinds: ClaimedKinds) => {
      const fault = faultOf(kinds, byName.get(name), hasOptionalRows);
      const column = `${place.replace(/:.*/, '')} ${name}`;
      if (fault?.startsWith(MAY_BE_NULL) && column in NOT_NULL) known.add(column);
      else if (fault !== undefined) faults.add(`${place} ${name}: ${fault}`);
    };
    for (const { place, columns } of rows)
      for (const [name, kinds] of columns ?? []) compare(place, name, kinds);
    for (const { name, template } of values)
      for (const { place, value } of claimsOf(template)) compare(place, camelCase(name), value);
  }
  return {
    faults,
    unseen: claims.filter((claim) => !seen.has(claim)),
    unneeded: Object.keys(NOT_NULL).filter((column) => !known.has(column)),
  };
}

/** Fault of a statement on a table that a spec has made: the schema has none in `public`. */
const OWN_TABLE = /relation "public\.\w+" does not exist/;

const MAY_BE_NULL = 'may be null';

const keyOf = (template: Template): string => template.join('\0');

const camelCase = (name: string): string =>
  name.replaceAll(/_([a-z0-9])/g, (_, letter: string) => letter.toUpperCase());

/** The fault of one claim: the type, or whether it may be null as far as PostgreSQL knows that. */
export function faultOf(
  kinds: ClaimedKinds,
  column: DescribedColumn | undefined,
  hasOptionalRows = false,
): string | undefined {
  if (column === undefined) return kinds.includes('undefined') ? undefined : 'is no column of the statement';
  const claimed = kinds.filter((kind) => kind !== 'null').map((kind) => kind.replace(/^null \| /, ''));
  if (claimed.join() === 'unknown') return undefined;
  const { type, source } = column;
  const isRight =
    type === 'json' ? claimed.every((kind) => kind !== 'Date' && kind !== 'Buffer') : claimed.includes(type);
  if (!isRight) return `is ${type}, claimed ${claimed.join(' | ')}`;
  if (source === undefined) return undefined;
  const isNullable = kinds.includes('null');
  if (!source.isNotNull && !isNullable) return `${MAY_BE_NULL}: ${source.column}`;
  return source.isNotNull && isNullable && !hasOptionalRows ? `is never null: ${source.column}` : undefined;
}
