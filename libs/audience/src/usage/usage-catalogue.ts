import type { ProjectScope } from '#kernel';

/** What others may hold on to, so that it cannot be deleted meanwhile. */
export type UsedKind = 'topic' | 'segment';

/** Those of the ids that are used now; joins the caller's transaction. */
export type FindUsed = (scope: ProjectScope, ids: readonly string[]) => Promise<ReadonlySet<string>>;

interface User {
  readonly kind: UsedKind;
  readonly inWords: string;
  readonly findUsed: FindUsed;
}

/**
 * Who uses topics and segments, asked before one is deleted. The contexts that use them register here when
 * they start, since the audience knows no other context.
 */
export class UsageCatalogue {
  readonly #users: User[] = [];

  /** `inWords` goes on behind “is used by”: `a scheduled or sending campaign`. */
  register(kind: UsedKind, inWords: string, findUsed: FindUsed): void {
    this.#users.push({ kind, inWords, findUsed });
  }

  /** Who uses it, in words; empty when nobody does. */
  async usersOf(kind: UsedKind, scope: ProjectScope, id: string): Promise<readonly string[]> {
    const users: string[] = [];
    for (const { inWords, findUsed } of this.#of(kind)) {
      if ((await findUsed(scope, [id])).has(id)) users.push(inWords);
    }
    return users;
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
}
