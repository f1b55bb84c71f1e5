import type { ConsentStatus } from '../consents/consent.js';
import type { CustomFieldOption, CustomFieldStatus, CustomFieldType } from '../custom-fields/custom-field.js';

/** The grammar's limits. */
export const MAX_RULE_DEPTH = 5;
export const MAX_RULE_CONDITIONS = 50;
export const MAX_RULE_OCTETS = 32 * 1024;
/** The most conditions of a segment with those of all segments that it names, and the longest chain of such segments. */
export const MAX_NESTED_CONDITIONS = 500;
export const MAX_NESTED_SEGMENTS = 5;

/** A rule about one subscriber: true or false, never unknown. */
export type RuleNode =
  | { readonly kind: 'and' | 'or'; readonly nodes: readonly RuleNode[] }
  | { readonly kind: 'not'; readonly node: RuleNode }
  | FieldCondition
  | ConsentCondition
  | SegmentCondition
  | EventCondition;

export type TextColumn = 'email' | 'externalId' | 'firstName' | 'lastName' | 'phone' | 'locale' | 'timeZone';
export type ChoiceColumn = 'status' | 'source';

/** The source of a value: a column of the subscriber, or the key of a custom field. */
export type RuleField =
  | { readonly column: TextColumn | ChoiceColumn | 'createdAt' }
  | { readonly custom: string };

/**
 * A test of one value. No test holds for a missing value; `negated` inverts the result, so that a missing value matches
 * only `neq`, `notIn`, `notContains`, `containsNone`, `notExists` and `notInLast`.
 */
export interface FieldCondition {
  readonly kind: 'field';
  readonly field: RuleField;
  readonly test: FieldTest;
  readonly negated: boolean;
}

/** The kind of a field's values. */
export type ValueKind = 'text' | 'number' | 'boolean' | 'date' | 'moment' | 'choice' | 'choices';

export type FieldTest =
  | { readonly test: 'exists'; readonly of: ValueKind }
  /** Texts are compared folded, addresses by their keys. */
  | {
      readonly test: 'text';
      readonly is: 'equal' | 'containing' | 'beginning' | 'ending';
      readonly values: readonly string[];
    }
  | { readonly test: 'number'; readonly from: NumberBound | null; readonly to: NumberBound | null }
  | { readonly test: 'boolean'; readonly value: boolean }
  /** `values` are options as stored. */
  | { readonly test: 'choice'; readonly values: readonly string[] }
  | { readonly test: 'choices'; readonly match: 'any' | 'all'; readonly values: readonly string[] }
  | DateTest;

export interface NumberBound {
  readonly value: number;
  readonly inclusive: boolean;
}

/** `of`: days or times; `on` compares a time by its day in UTC. */
export type DateTest =
  | {
      readonly test: 'calendar';
      readonly of: 'date' | 'moment';
      readonly is: 'before' | 'after' | 'on';
      readonly than: DayOrMoment;
    }
  | {
      readonly test: 'relative';
      readonly of: 'date' | 'moment';
      readonly is: 'inLast' | 'inNext' | 'anniversaryInNext';
      readonly duration: RuleDuration;
    };

/** A time, or a day `YYYY-MM-DD`, which counts as a whole. */
export type DayOrMoment = { readonly day: string } | { readonly moment: Date };

/** The consent has one of the statuses, since at most `within` if given. Without a consent there is no status. */
export interface ConsentCondition {
  readonly kind: 'consent';
  /** Null: a deleted topic, which matches nobody. */
  readonly topicId: string | null;
  readonly statuses: readonly ConsentStatus[];
  readonly within: RuleDuration | null;
}

export interface SegmentCondition {
  readonly kind: 'segment';
  /** Null: a deleted segment, which matches nobody. */
  readonly segmentId: string | null;
  readonly member: boolean;
}

/** The types of mail events. */
export const MAIL_ACTIVITIES = [
  'SENT',
  'DELIVERED',
  'OPENED',
  'CLICKED',
  'BOUNCED',
  'COMPLAINED',
  'UNSUBSCRIBED',
] as const;
export type MailActivity = (typeof MAIL_ACTIVITIES)[number];

/** A filter of mails; absent matches any. Null: deleted, so it matches none. */
export interface MailFilter {
  readonly campaignId?: string | null;
  readonly topicId?: string | null;
  /** The target of a clicked link, exactly. */
  readonly url?: string;
}

/** The operators on an event's properties, by the JSON type of the value that they compare with. */
export const PROPERTY_OPERATORS = {
  string: ['eq', 'neq', 'contains', 'notContains', 'startsWith', 'endsWith'],
  number: ['eq', 'neq', 'gt', 'gte', 'lt', 'lte'],
  boolean: ['eq', 'neq'],
  null: ['eq', 'neq'],
  list: ['in', 'notIn'],
  none: ['exists', 'notExists'],
} as const;
export type PropertyOperator = (typeof PROPERTY_OPERATORS)[keyof typeof PROPERTY_OPERATORS][number];

type Scalar = string | number | boolean | null;

/**
 * A test of what is at a path in an event's properties. A path through a list means any of its items, and so does one that ends at
 * a list; `notExists` holds where nothing is there, all others need a value that they hold for.
 */
export interface PropertyTest {
  readonly path: readonly string[];
  readonly op: PropertyOperator;
  /** A list for `in` and `notIn`; undefined for `exists` and `notExists`. */
  readonly value: Scalar | readonly Scalar[] | undefined;
}

export type EventSubject =
  | { readonly type: MailActivity; readonly mails: MailFilter }
  /** The project's own events; without a name, all of them. */
  | {
      readonly type: 'CUSTOM';
      readonly name: string | null;
      /** All of them hold for the event. */
      readonly where: readonly PropertyTest[];
    };

/** The number of events in a window. */
export interface EventCondition {
  readonly kind: 'event';
  readonly event: EventSubject;
  readonly count: { readonly op: 'gte' | 'lte' | 'eq'; readonly value: number };
  readonly within: RuleDuration | null;
  /** Exclusive. */
  readonly after: Date | null;
  readonly before: Date | null;
}

/** An ISO 8601 duration in rules. Years and months are calendar years and months. */
export interface RuleDuration {
  readonly months: number;
  readonly days: number;
  readonly milliseconds: number;
}

/** The parts of a project that rules can name. */
export interface RuleCatalogue {
  /** Ids by key. */
  readonly topics: ReadonlyMap<string, string>;
  readonly campaigns: ReadonlyMap<string, string>;
  readonly segments: ReadonlyMap<string, KnownSegment>;
  readonly customFields: ReadonlyMap<string, KnownField>;
}

export interface KnownField {
  readonly type: CustomFieldType;
  readonly status: CustomFieldStatus;
  readonly options: readonly Pick<CustomFieldOption, 'value'>[];
}

export interface KnownSegment {
  readonly id: string;
  /** It is the segment with these rules, or names that segment, directly or through others. */
  readonly leadsBack: boolean;
  /** The number of conditions in its rules and in those of the segments that it names. */
  readonly conditions: number;
  /** The length of the longest chain of segments from here; 1 when it names none. */
  readonly chain: number;
}
