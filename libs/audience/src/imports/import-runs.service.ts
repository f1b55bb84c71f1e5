import { Inject, Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { ImportChunks } from './import-chunks.service.js';
import type { Import } from './import.js';
import { ImportRepository } from './import.repository.js';
import { RowRanges } from './row-ranges.js';

/** Rows of one transaction. Each locks its address, and a default PostgreSQL has some 8 000 locks for everybody. */
const CHUNK_ROWS = 1_000;
/** Chunks at once: more than two wait for each other in the indexes. */
const LANES = 2;

/** Works imports off, chunk by chunk. What a chunk changes and that its rows are done is one transaction. */
@Injectable()
export class ImportRuns {
  constructor(
    @Inject(ImportRepository) private readonly imports: ImportRepository,
    @Inject(ImportChunks) private readonly chunks: ImportChunks,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Does the rows that are left, until the end or until `signal` is aborted. */
  async run(scope: ProjectScope, importId: string, signal: AbortSignal): Promise<void> {
    const begun = await this.imports.begin(scope, importId);
    if (begun === null) return;
    const { plan, firstRow } = begun;
    const ranges = new RowRanges(firstRow, plan.total, CHUNK_ROWS);
    const stop = (): void => ranges.stop();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    const lanes = Array.from({ length: LANES }, () => this.#lane(scope, plan, ranges));
    // All of them, so that none is at work when this ends.
    const ended = await Promise.allSettled(lanes);
    signal.removeEventListener('abort', stop);
    const refusals = ended.map((lane) => {
      if (lane.status === 'rejected') throw lane.reason;
      return lane.value;
    });
    if (!signal.aborted) await this.#end(scope, importId, refusals.find((reason) => reason !== null) ?? null);
  }

  /** Ends an import that cannot go on; what is done stays. */
  fail(scope: ProjectScope, importId: string, reason: string): Promise<void> {
    return this.#end(scope, importId, reason);
  }

  #end(scope: ProjectScope, importId: string, failureReason: string | null): Promise<void> {
    return this.imports.end(scope, importId, failureReason, this.clock.now());
  }

  /** Takes rows until there are none. Returns why the import cannot go on, or null. */
  async #lane(scope: ProjectScope, plan: Import, ranges: RowRanges): Promise<string | null> {
    try {
      for (let range = ranges.take(); range !== null; range = ranges.take()) {
        const refusal = await this.chunks.apply(scope, plan, range);
        if (refusal !== null) {
          ranges.stop();
          return refusal;
        }
      }
      return null;
    } catch (error) {
      ranges.stop();
      throw error;
    }
  }
}
