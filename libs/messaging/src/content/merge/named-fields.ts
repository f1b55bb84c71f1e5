import { mapTexts } from './map-texts.js';
import { templatePieces } from './merge-tags.js';

/** `custom.plan` and `custom["plan"]`, with quotes as HTML may write them. */
const CUSTOM = /\bcustom\s*(?:\.\s*(\w+)|\[\s*(?:["']|&quot;|&apos;|&#0*3[49];)(\w+))/g;

/** What an author wrote: texts, and documents as JSON text. */
export interface WrittenContent {
  readonly texts: unknown;
  readonly documents: readonly string[];
}

/**
 * The keys of the custom fields that merge tags name: also in a part that is never shown, or cannot be compiled yet. In a
 * process of its own only.
 */
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
