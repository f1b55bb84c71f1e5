import type { ProjectScope } from '#kernel';
import { InUseError } from './usage.errors.js';

/** What others may hold on to, so that it cannot be deleted meanwhile. */
export type UsedKind = 'topic' | 'segment';

/** Those of the ids that are used now; joins the caller's transaction. */
export type FindUsed = (scope: ProjectScope, ids: readonly string[]) => Promise<ReadonlySet<string>>;

interface User {
  readonly kind: UsedKind;
  readonly inWords: string;
  readonly findUsed: FindUsed;
  readonly needsActive: boolean;
}

/**
 * Who uses topics and segments, asked before one is deleted. The contexts that use them register here when
 * they start, since the audience knows no other context.
 */
export class UsageCatalogue {
  readonly #users: User[] = [];

  /**
   * `inWords` goes on behind “is used by”: `a scheduled or sending campaign`. `needsActive`: what it uses must not be made
   * inactive or archived either.
   */
  register(kind: UsedKind, inWords: string, findUsed: FindUsed, { needsActive = false } = {}): void {
    this.#users.push({ kind, inWords, findUsed, needsActive });
  }

  /** Refuses to delete what somebody uses. Throws InUseError. */
  refuseIfUsed(kind: UsedKind, scope: ProjectScope, id: string): Promise<void> {
    return this.#refuse(kind, scope, id, this.#of(kind));
  }

  /** Refuses to turn off what somebody needs to be active. Throws InUseError. */
  refuseIfNeeded(kind: UsedKind, scope: ProjectScope, id: string): Promise<void> {
    const needing = this.#of(kind).filter(({ needsActive }) => needsActive);
    return this.#refuse(kind, scope, id, needing);
  }

  /** Those of the ids that anybody uses. */
  async usedAmong(kind: UsedKind, scope: ProjectScope, ids: readonly string[]): Promise<ReadonlySet<string>> {
    const used = new Set<string>();
    if (ids.length === 0) return used;
    for (const { findUsed } of this.#of(kind)) for (const id of await findUsed(scope, ids)) used.add(id);
    return used;
  }

  #of(kind: UsedKind): readonly User[] {
    return this.#users.filter((user) => user.kind === kind);
  }

  async #refuse(kind: UsedKind, scope: ProjectScope, id: string, users: readonly User[]): Promise<void> {
    const words: string[] = [];
    for (const { inWords, findUsed } of users) if ((await findUsed(scope, [id])).has(id)) words.push(inWords);
    if (words.length > 0) throw new InUseError(`The ${kind}`, words);
  }
}
