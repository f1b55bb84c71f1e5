import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { propertiesPath } from './event-properties.js';
import { containmentOf, containsAll, fieldPredicate } from './field-predicate.query.js';
import type { MailActivitySource } from './rule-catalogue.query.js';
import { before } from './rule-dates.js';
import type { ConsentCondition, EventCondition, FieldCondition, RuleNode, SegmentCondition } from './rule.js';
import type { FrequentOptions } from './set-plans.query.js';

/** A segment that rules name. */
export type ResolvedSegment =
  | { readonly type: 'STATIC' }
  /** Null: its rules are no longer valid. */
  | { readonly type: 'DYNAMIC'; readonly where: RuleNode | null };

export interface PredicateContext {
  readonly scope: ProjectScope;
  /** The time from which durations count. */
  readonly now: Date;
  /** All segments that the rules name, directly or through others, by id. */
  readonly segments: ReadonlyMap<string, ResolvedSegment>;
  readonly activity: Pick<MailActivitySource, 'rows'>;
  readonly frequent: FrequentOptions;
}

/** A part of a predicate before it is rendered as SQL. */
type Part =
  | { readonly part: 'constant'; readonly value: boolean }
  /** A condition on the subscriber's own row. */
  | { readonly part: 'value'; readonly sql: RawBuilder<boolean> }
  /** The custom fields contain these values. */
  | { readonly part: 'contains'; readonly values: Readonly<Record<string, unknown>> }
  /** The subscriber is among the rows of a SELECT of `subscriber_id`. */
  | { readonly part: 'among'; readonly rows: RawBuilder<unknown>; readonly negated: boolean }
  | { readonly part: 'all' | 'any'; readonly parts: readonly Part[] };

/**
 * Compiles rules to one condition on `b`, a row of audience.scoped_subscribers or audience.subscribers, for a count, a page
 * or an INSERT … SELECT. It is true for members, false or null for others, and every value in it is a parameter.
 *
 * Negations are moved to the conditions, and conditions on other tables become EXISTS: under an AND the planner joins
 * them; under an OR it hashes them once, or probes an index when the hash would be too large.
 */
export function rulePredicate(where: RuleNode, context: PredicateContext): RawBuilder<boolean> {
  return written(partOf(where, context, false));
}

function partOf(node: RuleNode, context: PredicateContext, negated: boolean): Part {
  switch (node.kind) {
    case 'and':
    case 'or': {
      const parts = node.nodes.map((each) => partOf(each, context, negated));
      return (node.kind === 'and') === negated ? anyOf(parts) : allOf(parts);
    }
    case 'not':
      return partOf(node.node, context, !negated);
    case 'field':
      return fieldPart({ ...node, negated: node.negated !== negated }, context);
    case 'consent':
      return consentPart(node, context, negated);
    case 'segment':
      return segmentPart(node, context, negated);
    case 'event':
      return eventPart(node, context, negated);
  }
}

function fieldPart(condition: FieldCondition, { now, frequent }: PredicateContext): Part {
  const values = containmentOf(condition);
  return values === null
    ? { part: 'value', sql: fieldPredicate(condition, now, frequent) }
    : { part: 'contains', values };
}

/** The time at which a consent got its status. */
const SINCE = sql`case c.status when 'SUBSCRIBED' then c.subscribed_at when 'PENDING_CONFIRMATION' then c.granted_at
  when 'UNSUBSCRIBED' then c.revoked_at else c.token_expires_at end`;

function consentPart(
  { topicId, statuses, within }: ConsentCondition,
  context: PredicateContext,
  negated: boolean,
): Part {
  if (topicId === null) return { part: 'constant', value: negated };
  const { scope, now } = context;
  const lately = within === null ? sql`` : sql`and ${SINCE} >= ${before(now, within)}::timestamptz`;
  const rows = sql`select c.subscriber_id from audience.consents c
    where c.environment_id = ${scope.environmentId} and c.topic_id = ${topicId}
      and c.status = any(${[...new Set(statuses)]}::text[]) ${lately}`;
  return { part: 'among', rows, negated };
}

function segmentPart(
  { segmentId, member }: SegmentCondition,
  context: PredicateContext,
  negated: boolean,
): Part {
  const isOutside = member === negated;
  const segment = segmentId === null ? undefined : context.segments.get(segmentId);
  if (segmentId === null || segment === undefined) return { part: 'constant', value: isOutside };
  if (segment.type === 'DYNAMIC') {
    return segment.where === null
      ? { part: 'constant', value: isOutside }
      : partOf(segment.where, context, isOutside);
  }
  const rows = sql`select m.subscriber_id from audience.segment_members m
    where m.environment_id = ${context.scope.environmentId} and m.segment_id = ${segmentId}`;
  return { part: 'among', rows, negated: isOutside };
}

function eventPart(
  { count, ...condition }: EventCondition,
  context: PredicateContext,
  negated: boolean,
): Part {
  const events = eventRows(condition, context);
  const { op, value } = count;
  if (events === null) return { part: 'constant', value: holdsForNone(op, value) !== negated };
  if (op === 'gte' && value === 0) return { part: 'constant', value: !negated };
  if (op === 'gte') return { part: 'among', rows: counted(events, value, null), negated };
  // "At most" and "exactly none": negate "more often than that".
  if (op === 'lte' || value === 0)
    return { part: 'among', rows: counted(events, value + 1, null), negated: !negated };
  return { part: 'among', rows: counted(events, value, value), negated };
}

function holdsForNone(op: EventCondition['count']['op'], value: number): boolean {
  return op === 'lte' || value === 0;
}

/** Selects subscribers with at least and at most so many of the events. */
function counted(events: RawBuilder<unknown>, least: number, most: number | null): RawBuilder<unknown> {
  if (least === 1 && most === null) return events;
  return sql`select e.subscriber_id from (${events}) e group by e.subscriber_id
    having count(*) ${most === null ? sql`>=` : sql`=`} ${least}::bigint`;
}

/** Selects `subscriber_id` for each event in the window; null when there can be none. */
function eventRows(
  condition: Omit<EventCondition, 'count'>,
  context: PredicateContext,
): RawBuilder<unknown> | null {
  const { event, within, after, before: until } = condition;
  const { scope, now, activity } = context;
  if (event.type !== 'CUSTOM' && (event.mails.campaignId === null || event.mails.topicId === null))
    return null;
  const from = within === null ? null : before(now, within);
  const rows =
    event.type === 'CUSTOM'
      ? sql`select subscriber_id, occurred_at from audience.subscriber_events
          where environment_id = ${scope.environmentId} ${event.name === null ? sql`` : sql`and name = ${event.name}`}
            ${event.where.length === 0 ? sql`` : sql`and properties @@ ${propertiesPath(event.where)}::jsonpath`}`
      : activity.rows(scope, event.type, event.mails);
  const window = [
    ...(from === null ? [] : [sql`e.occurred_at >= ${from}::timestamptz`]),
    ...(after === null ? [] : [sql`e.occurred_at > ${after}::timestamptz`]),
    ...(until === null ? [] : [sql`e.occurred_at < ${until}::timestamptz`]),
  ];
  return sql`select e.subscriber_id from (${rows}) e
    ${window.length === 0 ? sql`` : sql`where ${sql.join(window, sql` and `)}`}`;
}

const NEVER: Part = { part: 'constant', value: false };

/** A part that holds when all of these hold. */
function allOf(parts: readonly Part[]): Part {
  const open = parts
    .flatMap((part) => (part.part === 'all' ? part.parts : [part]))
    .filter((part) => !isConstant(part, true));
  if (open.some((part) => isConstant(part, false))) return NEVER;
  const all = joinedContainments(open);
  return only(all) ?? (all.length === 0 ? { part: 'constant', value: true } : { part: 'all', parts: all });
}

/** Merges what the custom fields must contain; the second of two values for one field stays separate. */
function joinedContainments(parts: readonly Part[]): readonly Part[] {
  const joined: Record<string, unknown> = {};
  const others = parts.filter((part) => {
    if (part.part !== 'contains' || Object.keys(part.values).some((key) => Object.hasOwn(joined, key)))
      return true;
    Object.assign(joined, part.values);
    return false;
  });
  return Object.keys(joined).length === 0 ? others : [{ part: 'contains', values: joined }, ...others];
}

/** Merges alternatives: a subscriber in one SELECT or another is in their union. */
function anyOf(parts: readonly Part[]): Part {
  const open = parts
    .flatMap((part) => (part.part === 'any' ? part.parts : [part]))
    .filter((part) => !isConstant(part, false));
  if (open.some((part) => isConstant(part, true))) return { part: 'constant', value: true };
  const among = open.flatMap((part) => (part.part === 'among' && !part.negated ? [part.rows] : []));
  const others = open.filter((part) => part.part !== 'among' || part.negated);
  const all: Part[] = [
    ...others,
    ...(among.length === 0
      ? []
      : [{ part: 'among', rows: sql.join(among, sql` union all `), negated: false } as const]),
  ];
  return only(all) ?? (all.length === 0 ? NEVER : { part: 'any', parts: all });
}

/** The condition in SQL, of a row called `b`. */
function written(part: Part): RawBuilder<boolean> {
  switch (part.part) {
    case 'constant':
      return part.value ? sql<boolean>`true` : sql<boolean>`false`;
    case 'value':
      return part.sql;
    case 'contains':
      return containsAll(part.values);
    case 'among': {
      const among = sql<boolean>`exists (select 1 from (${part.rows}) s where s.subscriber_id = b.id)`;
      return part.negated ? sql`not ${among}` : among;
    }
    case 'all':
    case 'any': {
      // Conditions on the row itself come first.
      const inOrder = [...part.parts].sort((one, other) => rank(one) - rank(other));
      return sql`(${sql.join(inOrder.map(written), part.part === 'all' ? sql` and ` : sql` or `)})`;
    }
  }
}

function rank(part: Part): number {
  return { constant: 0, contains: 0, value: 0, all: 1, any: 1, among: 2 }[part.part];
}

function only(parts: readonly Part[]): Part | undefined {
  return parts.length === 1 ? parts[0] : undefined;
}

function isConstant(part: Part, value: boolean): boolean {
  return part.part === 'constant' && part.value === value;
}
