import { FIXED_SCHEME, urlFault } from './link-url.js';
import { beforePlaceholder, beginsWithOutput, holdsPlaceholder, withoutPlaceholders } from './merge-tags.js';

/**
 * What is wrong with a masked URL that may hold merge tags; null when it is fine. It may begin with an output
 * tag, whose value is checked when it is filled in; before any later tag its scheme must be written out.
 */
export function mergeUrlFault(masked: string): string | null {
  const url = masked.trim();
  if (!holdsPlaceholder(url)) return urlFault(url);
  if (beginsWithOutput(url)) return null;
  if (!FIXED_SCHEME.test(beforePlaceholder(url)) && !url.startsWith('#')) {
    return 'must begin with https://, http://, mailto:, tel:, sms:, whatsapp:, # or a merge tag';
  }
  return /[\s<>"`\\]/.test(withoutPlaceholders(url)) ? 'holds a character that a URL cannot hold' : null;
}
