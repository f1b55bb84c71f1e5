import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { Clock, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { ReportExport } from './report-export.js';

/** Channel on which waiting clients hear that there is more of their export; the payload is its id. */
export const EXPORTS_CHANNEL = 'mailwright_exports';

/** Reads and writes exports in the open transaction, as they are made. */
@Injectable()
export class ReportExportRepository {
  constructor(
    private readonly database: Database,
    private readonly clock: Clock,
  ) {}

  /** The export that is to be made, kept from other workers; null when it is gone or made. */
  lockPending({ environmentId }: ProjectScope, id: string): Promise<ReportExport | null> {
    const lockMode = LockMode.PESSIMISTIC_WRITE;
    return this.database.em.findOne(ReportExport, { environmentId, id, state: 'PENDING' }, { lockMode });
  }

  /** Writes the next part and tells the client. */
  async addPart(
    file: ReportExport,
    content: string,
    reached: { readonly cursor: string | null; readonly isLast: boolean },
  ): Promise<void> {
    const { id: exportId, parts: part, environmentId } = file;
    await this.database
      .tables<MessagingTables>()
      .insertInto('messaging.export_parts')
      .values({ exportId, part, environmentId, content })
      .execute();
    file.advance(reached, this.clock.now());
    this.database.notify(EXPORTS_CHANNEL, exportId);
  }
}
