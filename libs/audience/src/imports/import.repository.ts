import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { AuditTrail, Database, enqueue, jobType, Publisher } from '#platform';
import type { AudienceTables } from '../audience-tables.js';
import type { FaultyRow } from './import-row.js';
import { Import, type ImportError, type ImportProgress } from './import.js';
import { StagedRowsRepository } from './staged-rows.repository.js';

/** Applies the rows of an import, which are all stored. */
export const runImport = jobType<{ importId: string }>('imports.run', 'imports');

/** The place of notes about the whole import. */
const WHOLE_IMPORT = { row: 0, line: null, email: null, emailKey: null };

/** Imports and the errors and notes about their rows. */
@Injectable()
export class ImportRepository {
  constructor(
    private readonly database: Database,
    private readonly staged: StagedRowsRepository,
    private readonly publisher: Publisher,
  ) {}

  add(scope: ProjectScope, added: Import, notes: ImportError['errors']): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.database.em.persist(added).flush();
      if (Object.keys(notes).length > 0)
        await this.#note(scope, added.id, [{ ...WHOLE_IMPORT, errors: notes }]);
    });
  }

  /** Queues the import for the worker; false when it was removed as abandoned meanwhile. */
  queue(scope: ProjectScope, importId: string, stored: Parameters<Import['queue']>[0]): Promise<boolean> {
    return this.database.transaction(scope, async () => {
      const found = await this.#lock(scope, importId, 'RECEIVING');
      if (found === null) return false;
      found.queue(stored);
      await enqueue(this.database, scope, runImport({ importId }));
      AuditTrail.current?.made(importId);
      return true;
    });
  }

  /** Removes an import whose rows were not all stored. */
  discard(scope: ProjectScope, importId: string): Promise<void> {
    return this.database.transaction(scope, async () => {
      await this.staged.removeAll(scope, importId);
      const found = await this.#lock(scope, importId, 'RECEIVING');
      if (found !== null) this.database.em.remove(found);
    });
  }

  /** Counts the outcomes of some rows, and stores their errors and notes. */
  advance(
    scope: ProjectScope,
    importId: string,
    progress: ImportProgress,
    notes: readonly FaultyRow[],
  ): Promise<void> {
    const { created, updated, skipped, failed } = progress;
    return this.database.transaction(scope, async () => {
      if (notes.length > 0) await this.#note(scope, importId, notes);
      // Not through the entity: parallel chunks add to the same counts.
      await this.database
        .tables<AudienceTables>()
        .updateTable('audience.imports')
        .set((eb) => ({
          created: eb('created', '+', created),
          updated: eb('updated', '+', updated),
          skipped: eb('skipped', '+', skipped),
          failed: eb('failed', '+', failed),
        }))
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', importId)
        .execute();
    });
  }

  /**
   * Returns the import with its first remaining row (after the last when none remains); null when it has ended. The first
   * call removes rows of subscribers whose address appears again in a later row; each suppression counts.
   */
  begin(scope: ProjectScope, importId: string) {
    return this.database.transaction(scope, async () => {
      const plan = await this.#lock(scope, importId, 'QUEUED', 'IN_PROGRESS');
      if (plan === null) return null;
      if (plan.status === 'QUEUED')
        plan.begin(plan.kind === 'SUPPRESSIONS' ? 0 : await this.staged.setRepeatedAside(scope, importId));
      return { plan, firstRow: (await this.staged.firstRow(scope, importId)) ?? plan.total + 1 };
    });
  }

  /** Ends the import unless it has ended: COMPLETED, or FAILED for a reason. Removes remaining rows. */
  end(scope: ProjectScope, importId: string, failureReason: string | null, at: Date): Promise<void> {
    return this.database.transaction(scope, async () => {
      const found = await this.#lock(scope, importId, 'QUEUED', 'IN_PROGRESS');
      await this.staged.removeAll(scope, importId);
      if (found === null) return;
      found.end(failureReason, at);
      const { id, kind, status, counts } = found;
      await this.publisher.publish(scope, {
        type: 'import.completed',
        data: { id, kind, status, counts, failureReason },
      });
    });
  }

  async #note({ environmentId }: ProjectScope, importId: string, notes: readonly FaultyRow[]): Promise<void> {
    // A template: one parameter for each row would make a new statement for each number of rows.
    await sql`
      insert into audience.import_errors (import_id, environment_id, row_number, line, email, email_key, errors)
      select ${importId}, ${environmentId}, n.row_number, n.line, n.email, n.email_key, n.errors::jsonb
      from unnest(${notes.map(({ row }) => row)}::bigint[], ${notes.map(({ line }) => line)}::bigint[],
        ${notes.map(({ email }) => email)}::text[], ${notes.map(({ emailKey }) => emailKey)}::text[],
        ${notes.map(({ errors }) => JSON.stringify(errors))}::text[])
        as n(row_number, line, email, email_key, errors)
      returning row_number
    `.execute(this.database.tables());
  }

  /** The import if it has one of these statuses, locked until the transaction ends. */
  #lock(
    { environmentId }: ProjectScope,
    id: string,
    ...status: readonly Import['status'][]
  ): Promise<Import | null> {
    const options = { lockMode: LockMode.PESSIMISTIC_WRITE, refresh: true } as const;
    return this.database.em.findOne(Import, { id, environmentId, status: { $in: [...status] } }, options);
  }
}
