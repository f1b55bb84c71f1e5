import { DomainValidationError, patched } from '#kernel';

export const SEGMENT_TYPES = ['STATIC', 'DYNAMIC'] as const;
export type SegmentType = (typeof SEGMENT_TYPES)[number];

export const SEGMENT_STATUSES = ['ACTIVE', 'INACTIVE', 'ARCHIVED'] as const;
export type SegmentStatus = (typeof SEGMENT_STATUSES)[number];

const FIELDS = ['name', 'description', 'status', 'rules'] as const;

/** Changes; absent fields stay. */
export type SegmentPatch = {
  readonly [Field in (typeof FIELDS)[number]]?: Segment[Field] | undefined;
};

/** A new segment; DYNAMIC when it has rules, unless it says otherwise. It begins as ACTIVE. */
export interface NewSegment {
  readonly name: string;
  readonly description?: string | null | undefined;
  readonly type?: SegmentType | undefined;
  readonly rules?: string | null | undefined;
}

/** A group of subscribers: a list, or the people who match its rules. */
export class Segment {
  readonly id: string;
  readonly environmentId: number;
  readonly segmentKey: string;
  name: string;
  description: string | null;
  readonly type: SegmentType;
  /** The JSON as received; null on a STATIC one. */
  rules: string | null;
  status: SegmentStatus = 'ACTIVE';
  /** Number of conditions in its own rules. */
  conditionCount = 0;
  /** For a DYNAMIC one as of its last evaluation; null before the first. */
  memberCount: number | null;
  /** Its rules were not evaluated yet. */
  isDue: boolean;
  evaluatedAt: Date | null = null;
  readonly createdAt: Date;
  updatedAt: Date;

  constructor(
    { id, environmentId, segmentKey }: Pick<Segment, 'id' | 'environmentId' | 'segmentKey'>,
    { name, description = null, rules = null, type = typeBy(rules) }: NewSegment,
    now: Date,
  ) {
    this.id = id;
    this.environmentId = environmentId;
    this.segmentKey = segmentKey;
    this.name = name;
    this.description = description;
    this.type = type;
    this.rules = rules;
    this.memberCount = type === 'STATIC' ? 0 : null;
    this.isDue = type === 'DYNAMIC';
    this.createdAt = now;
    this.updatedAt = now;
  }

  /** Returns whether its rules are new and have to be evaluated. Throws DomainValidationError. */
  change(patch: SegmentPatch, now: Date): boolean {
    if (patch.rules !== undefined) refuseRules(this.type, patch.rules);
    const { rules } = this;
    if (patched(this, FIELDS, patch)) this.updatedAt = now;
    if (this.rules === rules) return false;
    this.isDue = true;
    return true;
  }

  /** Sets the number of members at a time. */
  evaluate(memberCount: number, now: Date): void {
    this.memberCount = memberCount;
    this.evaluatedAt = now;
    this.isDue = false;
  }
}

/** The default type of a segment. */
export function typeBy(rules: string | null): SegmentType {
  return rules === null ? 'STATIC' : 'DYNAMIC';
}

const SEGMENT_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** True for text that can be the key of a segment; other text is not looked up. */
export function isSegmentKey(text: string): boolean {
  return SEGMENT_KEY.test(text);
}

/** Throws DomainValidationError when a segment of this type cannot have these rules. */
export function refuseRules(type: SegmentType, rules: string | null): void {
  if ((type === 'STATIC') === (rules === null)) return;
  const fault =
    rules === null
      ? 'is required for a DYNAMIC segment'
      : 'must be absent for a STATIC segment, whose members are added and removed';
  throw new DomainValidationError({ rules: fault });
}
