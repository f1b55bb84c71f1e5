import { createHash } from 'node:crypto';
import type { CustomFieldDefinition } from './custom-field.js';

/** The same for definitions by which every value is read alike, in whatever order they are. */
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
