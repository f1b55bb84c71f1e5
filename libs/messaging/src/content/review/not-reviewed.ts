import type { ReviewedContent } from '#deliverability';
import type { ContentCompileError } from '../document/content-compile.errors.js';

/** Content that cannot be made into a mail. */
export function notReviewed({ message }: ContentCompileError): ReviewedContent {
  return { mergeTagFaults: [], contentFault: message, content: null };
}
