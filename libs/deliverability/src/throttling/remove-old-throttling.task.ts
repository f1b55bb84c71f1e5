import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';

const KEPT_MS = 60 * 60_000;

/** Removes what limits nobody any more: an hour without a mail fills every budget. */
@Injectable()
export class RemoveOldThrottling extends RemoveOldRows {
  override readonly name = 'remove-old-throttling';
  override readonly everyMs = 60 * 60_000;

  protected override old(now: Date): OldRows[] {
    const oldest = before(now, KEPT_MS);
    const isOfInstallation = true;
    return [
      { table: 'deliverability.slowed_destinations', where: sql`slow_until < ${oldest}`, isOfInstallation },
      { table: 'deliverability.distrust_reports', where: sql`reported_at < ${oldest}`, isOfInstallation },
      { table: 'deliverability.destination_lines', where: sql`ends_at < ${oldest}`, isOfInstallation },
      { table: 'deliverability.destination_budgets', where: sql`refilled_at < ${oldest}`, isOfInstallation },
    ];
  }
}
