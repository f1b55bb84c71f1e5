export const SEGMENT_TYPES = ['STATIC', 'DYNAMIC'] as const;
export type SegmentType = (typeof SEGMENT_TYPES)[number];

export const SEGMENT_STATUSES = ['ACTIVE', 'INACTIVE', 'ARCHIVED'] as const;
export type SegmentStatus = (typeof SEGMENT_STATUSES)[number];

/** A group of subscribers: a list of them, or those for whom its rules hold. */
export interface Segment {
  readonly id: string;
  readonly segmentKey: string;
  readonly name: string;
  readonly description: string | null;
  readonly type: SegmentType;
  /** The JSON as it was given; null on a STATIC one. */
  readonly rules: string | null;
  readonly status: SegmentStatus;
  /** Of a DYNAMIC one as of its last evaluation, null before the first. */
  readonly memberCount: number | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

/** What the author of a segment decides; its type is for good. */
export type SegmentFields = Pick<Segment, 'name' | 'description' | 'status' | 'rules'>;

const SEGMENT_KEY = /^[A-Z][A-Z0-9]{1,7}-[1-9]\d{0,18}$/;

/** Whether a segment can have this key at all: what can't is not looked up. */
export function isSegmentKey(text: string): boolean {
  return SEGMENT_KEY.test(text);
}

/** Why a segment of this type cannot have these rules, or null. */
export function rulesFault(type: SegmentType, rules: string | null): string | null {
  if (type === 'STATIC')
    return rules === null ? null : 'is not for a STATIC segment, whose members are added and removed';
  return rules === null ? 'is required for a DYNAMIC segment' : null;
}
