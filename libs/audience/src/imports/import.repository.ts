import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { ProjectScope } from '#kernel';
import { Announcer, Database, publish } from '#platform';
import type { ConsentProof } from '../consents/consent-proof.js';
import type { ColumnTarget } from './import-columns.js';
import { ImportQueued } from './import.events.js';
import type { FaultyRow } from './import-row.js';
import type { ImportConflict, ImportCounts, ImportStatus } from './import.js';
import type { RowRange } from './row-ranges.js';
import { StagedRows } from './staged-rows.repository.js';

/** What is to be done with the rows of an import, and how far it is. */
export interface ImportPlan {
  readonly importId: string;
  readonly status: ImportStatus;
  readonly onConflict: ImportConflict;
  readonly topicKeys: readonly string[];
  readonly proof: ConsentProof;
  readonly columns: readonly ColumnTarget[];
  /** Of the custom fields by which the rows were read as they came; null: by none. */
  readonly definitionsDigest: string | null;
  readonly total: number;
  /** Of those that are not done; beyond the last when there are none. */
  readonly firstRow: number;
}

export type NewImport = Pick<ImportPlan, 'importId' | 'onConflict' | 'topicKeys' | 'proof'>;

/** What became of some rows. */
export type ImportProgress = Omit<ImportCounts, 'total'>;

/** Imports and what is noted of their rows. */
@Injectable()
export class ImportRepository {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(StagedRows) private readonly staged: StagedRows,
    @Inject(Announcer) private readonly announcer: Announcer,
  ) {}

  /** Makes an import that nobody sees until it is queued. */
  add(scope: ProjectScope, { importId, onConflict, topicKeys, proof }: NewImport, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await sql`
        insert into audience.imports (id, environment_id, status, on_conflict, topic_keys, proof, created_at)
        values (${importId}, ${scope.environmentId}, 'RECEIVING', ${onConflict}, ${[...topicKeys]}::text[],
          ${JSON.stringify(proof)}::jsonb, ${at})
      `.execute(db);
    });
  }

  /** Hands it to the worker; false when it was taken for abandoned meanwhile. */
  queue(
    scope: ProjectScope,
    importId: string,
    { columns, definitionsDigest, total }: Pick<ImportPlan, 'columns' | 'definitionsDigest' | 'total'>,
  ): Promise<boolean> {
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows } = await sql`
        update audience.imports set status = 'QUEUED', columns = ${[...columns]}::text[], total = ${total},
          definitions_digest = ${definitionsDigest}
        where id = ${importId} and status = 'RECEIVING'
      `.execute(db);
      if (numAffectedRows !== 1n) return false;
      await publish(db, scope, ImportQueued({ importId }));
      return true;
    });
  }

  /** Forgets an import whose rows did not all arrive. */
  discard(scope: ProjectScope, importId: string): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      await this.staged.removeAll(scope, importId);
      await sql`delete from audience.imports where id = ${importId} and status = 'RECEIVING'`.execute(db);
    });
  }

  /** Counts what became of some rows, and notes what there is to say of them. */
  advance(
    scope: ProjectScope,
    importId: string,
    progress: ImportProgress,
    notes: readonly FaultyRow[],
  ): Promise<void> {
    const { created, updated, skipped, failed } = progress;
    return this.database.transaction(scope, async ({ db }) => {
      if (notes.length > 0) {
        await sql`
          insert into audience.import_errors (import_id, environment_id, row_number, email, email_key, errors)
          select ${importId}, ${scope.environmentId}, n.row_number, n.email, n.email_key, n.errors::jsonb
          from unnest(${notes.map(({ row }) => row)}::bigint[], ${notes.map(({ email }) => email)}::text[],
            ${notes.map(({ emailKey }) => emailKey)}::text[], ${notes.map(({ errors }) => JSON.stringify(errors))}::text[])
            as n(row_number, email, email_key, errors)
        `.execute(db);
      }
      await sql`
        update audience.imports set created = created + ${created},
          updated = updated + ${updated}, skipped = skipped + ${skipped}, failed = failed + ${failed}
        where id = ${importId}
      `.execute(db);
    });
  }

  /**
   * What is to be done; null when it has ended. At the first time, of rows with the same address the last one
   * counts, and the others are out.
   */
  begin(scope: ProjectScope, importId: string): Promise<ImportPlan | null> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<Omit<ImportPlan, 'firstRow'>>`
        select id as "importId", status, on_conflict as "onConflict", topic_keys as "topicKeys", proof, columns,
          definitions_digest as "definitionsDigest", total
        from audience.imports where id = ${importId} and status in ('QUEUED', 'IN_PROGRESS') for update
      `.execute(db);
      const [plan] = rows;
      if (plan === undefined) return null;
      if (plan.status === 'QUEUED') {
        const setAside = await this.staged.setRepeatedAside(scope, importId);
        await sql`
          update audience.imports set status = 'IN_PROGRESS', skipped = skipped + ${setAside} where id = ${importId}
        `.execute(db);
      }
      return { ...plan, firstRow: (await this.staged.firstRow(scope, importId)) ?? plan.total + 1 };
    });
  }

  /** Lets nobody else decide about the addresses in these rows until the transaction ends; how many rows they are. */
  lockAddresses(scope: ProjectScope, importId: string, range: RowRange): Promise<number> {
    return this.staged.lockAddresses(scope, importId, range);
  }

  /** Ends it, if it has not ended: COMPLETED, or FAILED for a reason, with what was not done left out. */
  end(scope: ProjectScope, importId: string, failureReason: string | null, at: Date): Promise<void> {
    return this.database.transaction(scope, async ({ db }) => {
      const { numAffectedRows } = await sql`
        update audience.imports set status = ${failureReason === null ? 'COMPLETED' : 'FAILED'},
          failure_reason = ${failureReason}, completed_at = ${at}
        where id = ${importId} and status in ('QUEUED', 'IN_PROGRESS')
      `.execute(db);
      await this.staged.removeAll(scope, importId);
      if (numAffectedRows !== 1n) return;
      await this.announcer.announceRows(
        db,
        'import.completed',
        sql`
          select i.environment_id, null::uuid as subscriber_id, jsonb_build_object('id', i.id, 'status', i.status,
            'counts', jsonb_build_object('total', i.total, 'created', i.created, 'updated', i.updated,
              'skipped', i.skipped, 'failed', i.failed), 'failureReason', i.failure_reason) as data
          from audience.imports i where i.environment_id = ${scope.environmentId} and i.id = ${importId}
        `,
      );
    });
  }
}
