import type { ProjectScope } from '#kernel';

interface UnflushedWork<Work> {
  readonly work: Work;
  readonly at: number;
}

interface UnflushedEpoch<Work> {
  readonly scope: ProjectScope;
  readonly epoch: number;
  readonly works: readonly UnflushedWork<Work>[];
}

/**
 * What was written and not waited for. Its sender remembers it until it is sure to outlast a crash of the environment's server,
 * and writes it again when there was one.
 */
export class UnflushedOutcomes<Work> {
  readonly #environments = new Map<number, UnflushedEpoch<Work>>();

  /** Of whom something is remembered. */
  get scopes(): ProjectScope[] {
    return [...this.#environments.values()].map(({ scope }) => scope);
  }

  /** Takes note of works that were written in this epoch. Resolves to those that a crash may have undone. */
  written(scope: ProjectScope, epoch: number, works: readonly Work[], at: number): Work[] {
    const before = this.#environments.get(scope.environmentId);
    const isLost = before !== undefined && before.epoch !== epoch;
    const kept = isLost ? [] : (before?.works ?? []);
    this.#keep({ scope, epoch, works: [...kept, ...works.map((work) => ({ work, at }))] });
    return isLost ? before.works.map(({ work }) => work) : [];
  }

  /** All that was written before this moment is safe, if it was written in this epoch. */
  flushed(scope: ProjectScope, epoch: number, before: number): void {
    const known = this.#environments.get(scope.environmentId);
    if (known?.epoch === epoch) this.#keep({ ...known, works: known.works.filter(({ at }) => at >= before) });
  }

  #keep(of: UnflushedEpoch<Work>): void {
    if (of.works.length > 0) this.#environments.set(of.scope.environmentId, of);
    else this.#environments.delete(of.scope.environmentId);
  }
}
