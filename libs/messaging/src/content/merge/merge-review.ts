import { compileMergeTemplate, MergeTemplateError, unknownVariables } from './merge-template.js';
import { trialFault } from './merge-trial.js';

/** What the merge tags of one part of a mail are like. */
export type MergeReview =
  | { readonly unreadable: string }
  | {
      readonly unreadable: null;
      /** Dotted names of the values that it uses. */
      readonly variables: readonly string[];
      /** Those of them that no mail has a value for. */
      readonly unknown: readonly string[];
      /** Why nobody's values can be filled in. */
      readonly trialFault: string | null;
    };

/** Looks at a part before anybody gets it. */
export function reviewMergeTags(source: string, customKeys: readonly string[]): MergeReview {
  try {
    const template = compileMergeTemplate(source, 'none');
    return {
      unreadable: null,
      variables: template.variables,
      unknown: unknownVariables(template, customKeys),
      trialFault: trialFault(template),
    };
  } catch (error) {
    if (error instanceof MergeTemplateError) return { unreadable: error.message };
    throw error;
  }
}
