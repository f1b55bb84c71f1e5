import { DomainValidationError } from './domain-error.js';

/** Strings that a client keeps with a resource, by its own keys; nothing of ours reads them. */
export type Metadata = Readonly<Record<string, string>>;

/** A client's changes: absent keys stay, null removes one. */
export type MetadataPatch = Readonly<Record<string, string | null>>;

const MAX_KEYS = 20;

/** The metadata after the changes. Throws DomainValidationError for too many keys. */
export function patchedMetadata(current: Metadata, patch: MetadataPatch = {}): Metadata {
  const merged = Object.entries({ ...current, ...patch });
  const kept = merged.filter((entry): entry is [string, string] => entry[1] !== null);
  if (kept.length > MAX_KEYS)
    throw new DomainValidationError({
      metadata: `must have at most ${MAX_KEYS} keys; it would have ${kept.length}`,
    });
  return Object.fromEntries(kept);
}
