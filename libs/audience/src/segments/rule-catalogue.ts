import type { CustomFieldOption, CustomFieldStatus, CustomFieldType } from '../custom-fields/custom-field.js';

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
  /** Whether it is the segment with these rules, or names that segment, directly or through others. */
  readonly leadsBack: boolean;
  /** The number of conditions in its rules and in those of the segments that it names. */
  readonly conditions: number;
  /** The length of the longest chain of segments from here; 1 when it names none. */
  readonly chain: number;
}
