import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { ImportChunks } from './import-chunks.service.js';
import type { Import } from './import.js';
import { ImportRepository } from './import.repository.js';
import { type RowRange, rowRanges } from './row-ranges.js';

/** Rows in one transaction. Each locks its address, and PostgreSQL by default has some 8 000 locks in total. */
const CHUNK_ROWS = 1_000;
/** Chunks in parallel: more than two would wait for each other in the indexes. */
const CHUNKS_AT_ONCE = 2;

/** Applies imports chunk by chunk. The changes of a chunk and the removal of its rows are one transaction. */
@Injectable()
export class ImportRuns {
  constructor(
    private readonly imports: ImportRepository,
    private readonly chunks: ImportChunks,
    private readonly clock: Clock,
  ) {}

  /** Applies the remaining rows, until the end or until `signal` is aborted. */
  async run(scope: ProjectScope, importId: string, signal: AbortSignal): Promise<void> {
    const begun = await this.imports.begin(scope, importId);
    if (begun === null) return;
    const { plan, firstRow } = begun;
    const ranges = rowRanges(firstRow, plan.total, CHUNK_ROWS);
    const stop = (): void => void ranges.return();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const loops = Array.from({ length: CHUNKS_AT_ONCE }, () => this.#applyChunks(scope, plan, ranges));
    // Wait for all, so that none is still running when this ends.
    const ended = await Promise.allSettled(loops);
    signal.removeEventListener('abort', stop);
    const refusals = ended.map((loop) => {
      if (loop.status === 'rejected') throw loop.reason;
      return loop.value;
    });
    if (signal.aborted) return;
    const refusal = refusals.find((reason) => reason !== null) ?? null;
    await this.imports.end(scope, importId, refusal, this.clock.now());
  }

  /** Ends an import that cannot go on; what is done stays. */
  fail(scope: ProjectScope, importId: string, reason: string): Promise<void> {
    return this.imports.end(scope, importId, reason, this.clock.now());
  }

  /** Applies chunks until there are none. Returns why the import cannot go on, or null. */
  async #applyChunks(scope: ProjectScope, plan: Import, ranges: Generator<RowRange>): Promise<string | null> {
    for (const range of ranges) {
      const refusal = await this.chunks.apply(scope, plan, range);
      if (refusal !== null) return refusal;
    }
    return null;
  }
}
