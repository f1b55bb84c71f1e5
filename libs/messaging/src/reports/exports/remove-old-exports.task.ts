import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';

const KEPT_MS = 60 * 60_000;

/** Report files are made for a client that waits: after an hour nobody does. */
@Injectable()
export class RemoveOldExports extends RemoveOldRows {
  override readonly name = 'remove-old-exports';
  override readonly everyMs = 10 * 60_000;

  protected override old(now: Date): OldRows[] {
    return [{ table: 'messaging.exports', where: sql`created_at < ${before(now, KEPT_MS)}` }];
  }
}
