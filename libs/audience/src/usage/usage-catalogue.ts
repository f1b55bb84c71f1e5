import type { ProjectScope } from '#kernel';
import { InUseError } from './usage.errors.js';

/** The kinds of things that other contexts use, which then cannot be deleted. */
export type UsedKind = 'topic' | 'segment';

/** The used ids among these; joins the caller's transaction. */
export type FindUsed = (scope: ProjectScope, ids: readonly string[]) => Promise<ReadonlySet<string>>;

interface User {
  readonly kind: UsedKind;
  readonly inWords: string;
  readonly findUsed: FindUsed;
  readonly needsActive: boolean;
}

/**
 * The users of topics and segments, asked before one is deleted. Contexts register at start, since the audience knows no
 * other context.
 */
export class UsageCatalogue {
  readonly #users: User[] = [];

  /**
   * `inWords` follows “is used by”: `a scheduled or sending campaign`. `needsActive`: what it uses must also not become
   * inactive or archived.
   */
  register(kind: UsedKind, inWords: string, findUsed: FindUsed, { needsActive = false } = {}): void {
    this.#users.push({ kind, inWords, findUsed, needsActive });
  }

  /** Throws InUseError when the id is used. */
  refuseIfUsed(kind: UsedKind, scope: ProjectScope, id: string): Promise<void> {
    return this.#refuse(kind, scope, id, this.#of(kind));
  }

  /** Throws InUseError when a user needs the id to be active. */
  refuseIfNeeded(kind: UsedKind, scope: ProjectScope, id: string): Promise<void> {
    const needing = this.#of(kind).filter(({ needsActive }) => needsActive);
    return this.#refuse(kind, scope, id, needing);
  }

  /** The used ids among these. */
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
