import type { CompiledContent } from '../document/content-compiler.js';
import { compilePlainTemplate, type MergeTemplate } from '../merge/merge-template.js';

/** The parts of a mail whose merge tags are plain and few: each recipient only fills their slots. */
export interface PlainParts {
  readonly subject: MergeTemplate;
  readonly fromName: MergeTemplate;
  readonly html: MergeTemplate;
  readonly text: MergeTemplate;
}

/** What is filled in and encoded within a millisecond or so. */
const MOST_SLOTS = 300;
const LONGEST_PLAIN = 256_000;

/** Null where logic, length or number of merge tags ask for a process of its own. */
export function plainPartsOf({ subject, fromName, html, text }: CompiledContent): PlainParts | null {
  if (html.length + text.length > LONGEST_PLAIN) return null;
  const parts = [
    compilePlainTemplate(subject, 'header'),
    compilePlainTemplate(fromName, 'header'),
    compilePlainTemplate(html, 'html'),
    compilePlainTemplate(text, 'none'),
  ] as const;
  const slots = parts.reduce((sum, part) => sum + (part?.slots?.texts.length ?? Infinity), 0);
  const [ofSubject, ofFrom, ofHtml, ofText] = parts;
  if (ofSubject === null || ofFrom === null || ofHtml === null || ofText === null) return null;
  if (slots > MOST_SLOTS) return null;
  return { subject: ofSubject, fromName: ofFrom, html: ofHtml, text: ofText };
}
