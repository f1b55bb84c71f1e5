import type { ConsentStatus } from '../consents/consent.js';
import type { RuleDuration } from './rule-duration.js';

/** The grammar's limits. */
export const MAX_RULE_DEPTH = 5;
export const MAX_RULE_CONDITIONS = 50;
export const MAX_RULE_OCTETS = 32 * 1024;
/** Conditions of a segment together with those of all segments that it names, and how long such a chain may be. */
export const MAX_NESTED_CONDITIONS = 500;
export const MAX_NESTED_SEGMENTS = 5;

/** What a rule says of one subscriber: true or false, never unknown. */
export type RuleNode =
  | { readonly kind: 'and' | 'or'; readonly nodes: readonly RuleNode[] }
  | { readonly kind: 'not'; readonly node: RuleNode }
  | FieldCondition
  | ConsentCondition
  | SegmentCondition
  | EventCondition;

export type TextColumn = 'email' | 'firstName' | 'lastName' | 'phone';
export type ChoiceColumn = 'status' | 'source';

/** Where a value comes from: a column of the subscriber, or a custom field by its key. */
export type RuleField =
  | { readonly column: TextColumn | ChoiceColumn | 'createdAt' }
  | { readonly custom: string };

/**
 * A test of one value. No test holds for a missing value; `negated` turns the outcome round, so that a missing
 * value matches `neq`, `notIn`, `notContains`, `containsNone`, `notExists` and `notInLast`, and nothing else.
 */
export interface FieldCondition {
  readonly kind: 'field';
  readonly field: RuleField;
  readonly test: FieldTest;
  readonly negated: boolean;
}

/** What the values of a field are. */
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
  /** `values` are options as they are stored. */
  | { readonly test: 'choice'; readonly values: readonly string[] }
  | { readonly test: 'choices'; readonly match: 'any' | 'all'; readonly values: readonly string[] }
  | DateTest;

export interface NumberBound {
  readonly value: number;
  readonly inclusive: boolean;
}

/** `of` tells days from moments; `on` a moment is its day in UTC. */
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

/** A day `YYYY-MM-DD`, which as a whole is before, after or on; or a moment. */
export type DayOrMoment = { readonly day: string } | { readonly moment: Date };

/** Has one of the statuses, and, with `within`, came to it that lately. No consent has no status. */
export interface ConsentCondition {
  readonly kind: 'consent';
  /** Null: of a topic that is gone, which nobody consents to. */
  readonly topicId: string | null;
  readonly statuses: readonly ConsentStatus[];
  readonly within: RuleDuration | null;
}

export interface SegmentCondition {
  readonly kind: 'segment';
  /** Null: a segment that is gone, which nobody is in. */
  readonly segmentId: string | null;
  readonly member: boolean;
}

/** What mail does and what people do with it. */
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

/** Which of the mails are meant; what is absent is any. Null: one that is gone, so none. */
export interface MailFilter {
  readonly campaignId?: string | null;
  readonly topicId?: string | null;
  /** The target of a clicked link, exactly. */
  readonly url?: string;
}

export type EventSubject =
  | { readonly type: MailActivity; readonly mails: MailFilter }
  /** Without a name: the project's own events of all names. */
  | { readonly type: 'CUSTOM'; readonly name: string | null };

/** How often something happened in a window. */
export interface EventCondition {
  readonly kind: 'event';
  readonly event: EventSubject;
  readonly count: { readonly op: 'gte' | 'lte' | 'eq'; readonly value: number };
  readonly within: RuleDuration | null;
  /** Exclusive. */
  readonly after: Date | null;
  readonly before: Date | null;
}
