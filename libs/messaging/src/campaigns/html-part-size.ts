import { compileBody } from '../content/body-encoding.js';
import { compileMergeTemplate, MergeTemplateError, type MergeValues } from '../content/merge-template.js';
import { type LinkTracking, placeName, trackHtml } from '../tracking/link-rewriting.js';

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
export function htmlPartSize(html: string, { tracking, trackingToken, values }: SampleMail): number {
  try {
    const tracked = tracking === null ? { html, targets: [] } : trackHtml(html, tracking);
    const tokens = ['pixel', ...tracked.targets].map((_, place) => [placeName(place), trackingToken]);
    const body = compileBody(compileMergeTemplate(tracked.html, 'html'));
    const { content } = body.build({ ...values, tracking: Object.fromEntries(tokens) });
    return content.reduce((size, { length }) => size + length, 0);
  } catch (error) {
    if (error instanceof MergeTemplateError) return Buffer.byteLength(html);
    throw error;
  }
}
