import { MergeTemplateError } from '../content.errors.js';
import { templatePieces } from './merge-tags.js';
import { compileMergeTemplate, type MergeTemplate } from './merge-template.js';
import { KNOWN_VARIABLES, SAMPLE_VALUES } from './merge-values.js';

/** Result of a look at the merge tags of one part of a mail. */
export type MergeReview =
  | { readonly unreadable: string }
  | {
      readonly unreadable: null;
      /** Dotted names of the values that it uses. */
      readonly variables: readonly string[];
      /** Names that no mail has a value for. */
      readonly unknown: readonly string[];
      /** Reason why nobody's values can be filled in. */
      readonly trialFault: string | null;
    };

/** Reviews a part before anybody gets it. */
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

/**
 * The variables of a template that no delivery will ever fill, sorted: pre-send refuses them, since they
 * would silently come out empty. A deeper path (`custom.tags.size`) is judged by its first two names.
 */
export function unknownVariables(
  template: Pick<MergeTemplate, 'variables'>,
  customKeys: readonly string[],
): string[] {
  const known = new Set([...KNOWN_VARIABLES, ...customKeys.map((key) => `custom.${key}`)]);
  const unknown = template.variables.filter((name) => !known.has(name.split('.', 2).join('.')));
  return [...new Set(unknown)].sort();
}

/** Fills a template in once: the error when its loops or filters exceed their bounds for everybody, else null. */
export function trialFault(template: MergeTemplate): string | null {
  try {
    template.render(SAMPLE_VALUES);
    return null;
  } catch (error) {
    if (error instanceof MergeTemplateError) return error.message;
    throw error;
  }
}

/** `custom.plan` and `custom["plan"]`, with quotes as HTML may write them. */
const CUSTOM = /\bcustom\s*(?:\.\s*(\w+)|\[\s*(?:["']|&quot;|&apos;|&#0*3[49];)(\w+))/g;

/** Content as its author wrote it: texts, and documents as JSON text. */
export interface WrittenContent {
  readonly texts: unknown;
  readonly documents: readonly string[];
}

/** The keys of the custom fields that merge tags name: also in a part that is never shown, or cannot be compiled yet. */
export function customKeysIn({ texts, documents }: WrittenContent): string[] {
  const keys = new Set<string>();
  mapTexts([texts, ...documents.map(parsed)], (text) => {
    for (const tag of tagsIn(text))
      for (const [, name, quoted] of tag.matchAll(CUSTOM)) keys.add(name ?? quoted ?? '');
    return text;
  });
  return [...keys];
}

function parsed(document: string): unknown {
  try {
    return JSON.parse(document) as unknown;
  } catch {
    return document;
  }
}

/** The whole text where its tags are not closed. */
function tagsIn(text: string): readonly string[] {
  try {
    return templatePieces(text).flatMap(({ kind, source }) => (kind === 'text' ? [] : [source]));
  } catch {
    return [text];
  }
}

/** The body with each of its texts replaced by what `map` returns for it and its path behind `body`. */
export function mapTexts(body: unknown, map: (text: string, path: string) => string, path = ''): unknown {
  if (typeof body === 'string') return map(body, path);
  if (Array.isArray(body))
    return body.map((item: unknown, index) => mapTexts(item, map, `${path}[${index}]`));
  if (typeof body !== 'object' || body === null) return body;
  return Object.fromEntries(
    Object.entries(body).map(([name, value]) => [name, mapTexts(value, map, `${path}.${name}`)]),
  );
}
