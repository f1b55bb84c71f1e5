import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';

const KEPT_MS = 180 * 24 * 60 * 60_000;

/**
 * Removes what reports told half a year ago, and tokens of feedback that are too old to be good. What followed from them stays
 * with the deliveries.
 */
@Injectable()
export class RemoveOldReports extends RemoveOldRows {
  override readonly name = 'remove-old-reports';
  override readonly everyMs = 60 * 60_000;

  protected override old(now: Date): OldRows[] {
    return [
      { table: 'deliverability.reports', where: sql`reported_at < ${before(now, KEPT_MS)}` },
      { table: 'deliverability.feedback_tokens', where: sql`good_until < ${now}` },
    ];
  }
}
