import { compileBody, encodeBody } from '../mime/body-encoding.js';
import type { CompiledContent } from '../document/content-compiler.js';
import { compileMergeTemplate, MergeTemplateError, type MergeValues } from '../merge/merge-template.js';
import { sealedLength, shownNames, shownValues } from '../merge/shown-values.js';
import { type LinkTracking, placeName, trackHtml } from '../mail/link-rewriting.js';
import { plainPartsOf } from '../mail/plain-parts.js';

/** A mail to a reader who does not exist, its links as long as real ones. */
export interface SampleMail {
  readonly tracking: LinkTracking | null;
  /** Of its pixel, and of each tracked link. */
  readonly trackingToken: string;
  readonly values: MergeValues;
}

/**
 * Bytes of the HTML part in its transfer encoding, with tracked links and pixel, filled in. Of a template that cannot be
 * filled in, its own. Takes what it takes: in a process of its own only.
 */
export function htmlPartSize(
  sources: CompiledContent,
  { tracking, trackingToken, values }: SampleMail,
): number {
  try {
    const tracked =
      tracking === null ? { html: sources.html, targets: [] } : trackHtml(sources.html, tracking);
    const tokens = ['pixel', ...tracked.targets].map((_, place) => [placeName(place), trackingToken]);
    const plain = plainPartsOf({ ...sources, ...tracked });
    const template = plain?.html ?? compileMergeTemplate(tracked.html, 'html');
    const shown = shownValues(shownNames(tracked.html, template), values);
    const view = values.links.view + 'x'.repeat(sealedLength(shown));
    const links = { ...values.links, view };
    const filling = { ...values, links, tracking: Object.fromEntries(tokens) };
    const { content } =
      plain === null ? encodeBody(template.render(filling)) : compileBody(template).build(filling);
    return content.reduce((size, { length }) => size + length, 0);
  } catch (error) {
    if (error instanceof MergeTemplateError) return Buffer.byteLength(sources.html);
    throw error;
  }
}
