import type { ConsentStatus } from '../consents/consent.js';
import { anniversaryDays, before, dayOf, daysOf, momentsOf, type Span } from './rule-dates.js';
import type {
  ConsentCondition,
  DateTest,
  EventCondition,
  FieldCondition,
  FieldTest,
  MailActivity,
  PropertyTest,
  RuleNode,
  ValueKind,
} from './rule.js';
import { folded } from './text-folding.js';

/** Everything about a subscriber that rules can use. */
export interface SubscriberFacts {
  readonly emailKey: string;
  readonly externalId: string | null;
  readonly firstName: string | null;
  readonly lastName: string | null;
  readonly phone: string | null;
  readonly locale: string | null;
  readonly timeZone: string | null;
  readonly status: string;
  readonly source: string;
  readonly createdAt: Date;
  readonly customFields: Readonly<Record<string, unknown>>;
  readonly consents: readonly ConsentFact[];
  /** The STATIC segments that it is a member of. */
  readonly segmentIds: ReadonlySet<string>;
  readonly events: readonly EventFact[];
}

export interface ConsentFact {
  readonly topicId: string;
  readonly status: ConsentStatus;
  /** When it got its status. */
  readonly since: Date | null;
}

export interface EventFact {
  readonly type: MailActivity | 'CUSTOM';
  readonly occurredAt: Date;
  readonly campaignId?: string;
  readonly topicIds?: readonly string[];
  readonly url?: string;
  readonly name?: string;
  readonly properties?: { readonly total?: number };
}

export interface EvaluationContext {
  readonly now: Date;
  /** The rules of the DYNAMIC segments that are named, by id. A segment that is not here is STATIC. */
  readonly dynamicSegments: ReadonlyMap<string, RuleNode>;
}

/** Evaluates the rules for one subscriber: the same as `rulePredicate` says in SQL. */
export function evaluate(node: RuleNode, facts: SubscriberFacts, context: EvaluationContext): boolean {
  switch (node.kind) {
    case 'and':
      return node.nodes.every((each) => evaluate(each, facts, context));
    case 'or':
      return node.nodes.some((each) => evaluate(each, facts, context));
    case 'not':
      return !evaluate(node.node, facts, context);
    case 'field':
      return evaluateField(node, facts, context.now);
    case 'consent':
      return evaluateConsent(node, facts, context.now);
    case 'segment':
      return node.member === isMember(node.segmentId, facts, context);
    case 'event':
      return evaluateEvent(node, facts, context.now);
  }
}

function isMember(segmentId: string | null, facts: SubscriberFacts, context: EvaluationContext): boolean {
  if (segmentId === null) return false;
  const rules = context.dynamicSegments.get(segmentId);
  return rules === undefined ? facts.segmentIds.has(segmentId) : evaluate(rules, facts, context);
}

function evaluateConsent(
  { topicId, statuses, within }: ConsentCondition,
  facts: SubscriberFacts,
  now: Date,
): boolean {
  return facts.consents.some((consent) => {
    if (consent.topicId !== topicId || !statuses.includes(consent.status)) return false;
    if (within === null) return true;
    return consent.since !== null && consent.since >= before(now, within);
  });
}

function evaluateEvent(
  { event, count, within, after, before: until }: EventCondition,
  facts: SubscriberFacts,
  now: Date,
): boolean {
  const happened = facts.events.filter(({ type, occurredAt, ...fact }) => {
    if (type !== event.type) return false;
    if (within !== null && occurredAt < before(now, within)) return false;
    if ((after !== null && occurredAt <= after) || (until !== null && occurredAt >= until)) return false;
    if (event.type === 'CUSTOM')
      return (
        (event.name === null || event.name === fact.name) &&
        event.where.every((test) => totalHolds(fact.properties?.total, test))
      );
    const { campaignId, topicId, url } = event.mails;
    if (campaignId !== undefined && campaignId !== fact.campaignId) return false;
    if (topicId !== undefined && (topicId === null || fact.topicIds?.includes(topicId) !== true))
      return false;
    return url === undefined || url === fact.url;
  }).length;
  if (count.op === 'gte') return happened >= count.value;
  return count.op === 'lte' ? happened <= count.value : happened === count.value;
}

/** One property, of numbers: `event-properties.spec.ts` has the others. */
function totalHolds(total: number | undefined, { op, value }: PropertyTest): boolean {
  const wanted = Number(value);
  if (total === undefined) return false;
  if (op === 'eq') return total === wanted;
  if (op === 'neq') return total !== wanted;
  return op === 'lt' ? total < wanted : total >= wanted;
}

function evaluateField({ field, test, negated }: FieldCondition, facts: SubscriberFacts, now: Date): boolean {
  const value = 'column' in field ? columnValue(field.column, facts) : customValue(field.custom, test, facts);
  const holds = value !== null && holdsFor(value, test, now);
  return holds !== negated;
}

type ColumnFacts = { readonly email?: undefined } & Pick<
  SubscriberFacts,
  | 'externalId'
  | 'firstName'
  | 'lastName'
  | 'phone'
  | 'locale'
  | 'timeZone'
  | 'status'
  | 'source'
  | 'createdAt'
>;
type Value = string | number | boolean | Date | readonly string[];

function columnValue(
  column: keyof ColumnFacts,
  facts: ColumnFacts & Pick<SubscriberFacts, 'emailKey'>,
): Value | null {
  if (column === 'email') return facts.emailKey;
  if (column === 'status' || column === 'source' || column === 'createdAt') return facts[column];
  const text = facts[column];
  return text === null ? null : folded(text);
}

/** Also null for a value of another type, left by a former field with this key. */
function customValue(key: string, test: FieldTest, { customFields }: SubscriberFacts): Value | null {
  const value = Object.hasOwn(customFields, key) ? customFields[key] : null;
  switch (kindOf(test)) {
    case 'text':
      return typeof value === 'string' ? folded(value) : null;
    case 'choice':
      return typeof value === 'string' ? value : null;
    case 'number':
      return typeof value === 'number' ? value : null;
    case 'boolean':
      return typeof value === 'boolean' ? value : null;
    case 'choices':
      return Array.isArray(value) && value.length > 0 ? (value as readonly string[]) : null;
    case 'date':
    case 'moment':
      return typeof value === 'string' ? dateValue(value, test) : null;
  }
}

function dateValue(text: string, test: FieldTest): Value | null {
  if (test.test === 'exists') return text;
  if (kindOf(test) === 'date') return /^\d{4}-\d\d-\d\d$/.test(text) ? text : null;
  return /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$/.test(text) ? new Date(text) : null;
}

function kindOf(test: FieldTest): ValueKind {
  if (test.test === 'exists' || test.test === 'calendar' || test.test === 'relative') return test.of;
  return test.test;
}

function holdsFor(value: Value, test: FieldTest, now: Date): boolean {
  switch (test.test) {
    case 'exists':
      return true;
    case 'text':
      return test.values.some((wanted) => textHolds(String(value), test.is, wanted));
    case 'number':
      return isWithin(Number(value), test);
    case 'boolean':
      return value === test.value;
    case 'choice':
      return test.values.some((wanted) => wanted === value);
    case 'choices': {
      const chosen = value as readonly string[];
      const has = (wanted: string) => chosen.includes(wanted);
      return test.match === 'all' ? test.values.every(has) : test.values.some(has);
    }
    case 'calendar':
    case 'relative':
      return dateHolds(value, test, now);
  }
}

function textHolds(text: string, is: (FieldTest & { test: 'text' })['is'], wanted: string): boolean {
  if (is === 'equal') return text === wanted;
  if (is === 'containing') return text.includes(wanted);
  return is === 'beginning' ? text.startsWith(wanted) : text.endsWith(wanted);
}

function dateHolds(value: Value, test: DateTest, now: Date): boolean {
  if (test.test === 'relative' && test.is === 'anniversaryInNext') {
    const day = (value instanceof Date ? dayOf(value) : String(value)).slice(5, 10);
    return anniversaryDays(test.duration, now)?.includes(day) ?? true;
  }
  return value instanceof Date
    ? isWithin(value, momentsOf(test, now))
    : isWithin(String(value), daysOf(test, now));
}

function isWithin<Bound extends number | string | Date>(value: Bound, { from, to }: Span<Bound>): boolean {
  const beginsInTime = from === null || (from.inclusive ? value >= from.value : value > from.value);
  return beginsInTime && (to === null || (to.inclusive ? value <= to.value : value < to.value));
}
