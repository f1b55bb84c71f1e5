import { DomainError } from './domain-error.js';

/** Kinds of things that use others. */
export type UserKind = 'campaign' | 'automation' | 'segment';

/** One thing that uses another, which therefore stays. */
export interface ResourceUser {
  readonly kind: UserKind;
  readonly key: string;
  readonly name: string;
}

/** The most users that a problem names. */
const NAMED = 10;

/** It stays while something uses it. */
export class InUseError extends DomainError {
  override readonly code = 'in-use';

  /** `what` begins a sentence: “The topic”. */
  constructor(
    what: string,
    readonly users: readonly ResourceUser[],
  ) {
    super(`${what} is used by ${inWords(users)}.`);
  }

  override get members(): Readonly<Record<string, unknown>> {
    const usedBy = this.users.slice(0, NAMED).map(({ kind, key, name }) => ({ kind, key, name }));
    return { usedBy, usedByCount: this.users.length };
  }
}

function inWords(users: readonly ResourceUser[]): string {
  const named = users.slice(0, NAMED).map(({ kind, key, name }) => `the ${kind} ${key} “${name}”`);
  const more = users.length - named.length;
  const last = more > 0 ? `${more} more` : (named.pop() ?? 'something else');
  return named.length === 0 ? last : `${named.join(', ')} and ${last}`;
}
