import { z } from 'zod';
import { DomainValidationError } from '#kernel';
import { AUDIT_ACTORS, AUDIT_OUTCOMES, type AuditFilter } from '#platform';
import { int64, pageOf, pageQuery, PLACES, timestamp } from '#platform/http';
import { moment } from '../fields.js';

const filters = {
  from: moment.optional().meta({ description: 'Entries of this time and later.' }),
  to: moment.optional().meta({
    description: 'Entries before this time; now if left out. At most 400 days after `from`.',
  }),
  keyId: z.uuid().optional().meta({ description: 'Requests of this key.' }),
  action: z.string().max(64).optional().meta({ description: 'The `operationId`, e.g. `updateTopic`.' }),
  targetType: z
    .string()
    .max(64)
    .optional()
    .meta({ description: 'E.g. `topic`; with `targetId` alone, since other things have the same keys.' }),
  targetId: z.string().max(128).optional().meta({ description: 'E.g. `APIT-1`.' }),
  outcome: z.enum(AUDIT_OUTCOMES).optional(),
  requestId: z.string().max(128).optional(),
};

type Filters = { readonly targetType?: string | undefined; readonly targetId?: string | undefined };

function refuseTypeAlone({ targetType, targetId }: Filters, context: z.RefinementCtx): void {
  if (targetType === undefined || targetId !== undefined) return;
  context.addIssue({ code: 'custom', path: ['targetId'], message: 'is required with targetType' });
}

export const auditExportQuery = z.object(filters).superRefine(refuseTypeAlone);
export const auditListQuery = pageQuery(filters, [PLACES.time, PLACES.number]).superRefine(refuseTypeAlone);

const DAY_MS = 86_400_000;
const MOST_DAYS = 400;

function spanFault(from: Date, to: Date): string | null {
  const span = to.getTime() - from.getTime();
  if (span <= 0) return 'a time';
  return span > MOST_DAYS * DAY_MS ? `at most ${MOST_DAYS} days, for which entries are kept,` : null;
}

/** The filters of a query. Throws `DomainValidationError` for a span that is longer than the log is kept. */
export function toAuditFilter(query: z.output<typeof auditExportQuery>, now: Date): AuditFilter {
  const { from, to, keyId, action, targetType, targetId, outcome, requestId } = query;
  const fault = from === undefined ? null : spanFault(from, to ?? now);
  if (fault !== null)
    throw new DomainValidationError(
      to === undefined ? { from: `must be ${fault} before now` } : { to: `must be ${fault} after from` },
    );
  return { from, to, keyId, action, targetType, targetId, outcome, requestId };
}

const settings = z.record(z.string(), z.unknown()).nullable();
const hash = z.string().meta({ minLength: 64, maxLength: 64, pattern: '^[0-9a-f]{64}$' });

export const auditEntryView = z
  .object({
    sequence: int64.meta({ description: 'Its number in the environment, from 1 without gaps.' }),
    id: z.uuid(),
    createdAt: z.string().meta({ format: 'date-time' }),
    updatedAt: z.string().meta({ format: 'date-time', description: 'The same: entries do not change.' }),
    actor: z.object({
      type: z.enum(AUDIT_ACTORS),
      keyId: z.uuid().nullable(),
      keyName: z.string().nullable().meta({ description: 'The name that the key had then.' }),
      network: z
        .string()
        .nullable()
        .meta({ description: 'The caller’s network, /24 of IPv4 or /48 of IPv6; no address is kept.' }),
    }),
    requestId: z
      .string()
      .nullable()
      .meta({ description: 'As in X-Request-Id; null for the operator’s commands.' }),
    action: z.string().meta({ description: 'The `operationId`, or the name of the operator’s command.' }),
    target: z.object({
      type: z.string().meta({ description: 'E.g. `topic`.' }),
      id: z.string().nullable().meta({
        description: 'The key or id in the path, or of what was made; of a person the id, if they are known.',
      }),
    }),
    items: z.int().nullable().meta({ description: 'How many items a bulk request had.' }),
    outcome: z.enum(AUDIT_OUTCOMES).meta({
      description:
        'REFUSED: a 4xx; FAILED: a 5xx; REPLAYED: the kept answer of an earlier request with the same Idempotency-Key.',
    }),
    problem: z.string().nullable().meta({ description: 'The last part of the problem’s `type`.' }),
    before: settings.meta({
      description: 'Settings before; of secrets, addresses and content it says only `changed`.',
    }),
    after: settings,
    previousHash: hash.meta({ description: 'The hash of the entry before; zeros for the first.' }),
    hash: hash.meta({
      description: 'SHA-256 of this entry in its line of the export, without this last member.',
    }),
  })
  .meta({ id: 'AuditEntry' });
export const auditPage = pageOf(auditEntryView, 'AuditEntryPage');

export const requestListQuery = pageQuery({
  requestId: z.string().max(128).optional(),
  status: z.coerce.number().int().min(100).max(599).optional().meta({ description: 'E.g. `422`.' }),
});

export const loggedRequestView = z
  .object({
    id: z.uuid(),
    createdAt: timestamp.meta({ description: 'When it was answered.' }),
    updatedAt: timestamp,
    method: z.string(),
    route: z.string().nullable().meta({
      description: 'The path with the names of its parameters; null for a path that does not exist.',
    }),
    status: z.int(),
    requestId: z.string(),
    keyId: z.uuid(),
    ms: z.int().meta({ description: 'Milliseconds until the answer.' }),
  })
  .meta({ id: 'LoggedRequest' });
export const loggedRequestPage = pageOf(loggedRequestView, 'LoggedRequestPage');
