import { createHash } from 'node:crypto';
import type { CustomFieldDefinition } from './custom-field.js';

/** A digest of definitions: equal for definitions that read all values alike, in any order. */
export function definitionsDigest(definitions: readonly CustomFieldDefinition[]): string {
  const rules = definitions
    .map(({ key, type, isRequired, options, status }) => [
      key,
      type,
      isRequired,
      status,
      options.map(({ value }) => value),
    ])
    .sort(([a], [b]) => (String(a) < String(b) ? -1 : 1));
  return createHash('sha256').update(JSON.stringify(rules)).digest('base64url');
}
