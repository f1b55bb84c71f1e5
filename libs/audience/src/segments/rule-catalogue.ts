import type { CustomFieldOption, CustomFieldStatus, CustomFieldType } from '../custom-fields/custom-field.js';

/** What a project has of that which rules name. */
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
  /** It is the segment that the rules are for, or names it, directly or through others. */
  readonly leadsBack: boolean;
  /** Conditions of its rules and of those of the segments that it names. */
  readonly conditions: number;
  /** How long the longest chain of segments is that begins with it; 1 when it names none. */
  readonly chain: number;
}
