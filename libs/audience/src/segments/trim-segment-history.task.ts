import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { before, type OldRows, RemoveOldRows } from '#platform';

const KEPT_MS = 7 * 24 * 3_600_000;

/** Removes old entries and exits, and abandoned frozen audiences. */
@Injectable()
export class TrimSegmentHistory extends RemoveOldRows {
  override readonly name = 'trim-segment-history';
  override readonly everyMs = 3_600_000;

  protected override old(now: Date): OldRows[] {
    const oldest = before(now, KEPT_MS);
    const forgotten = sql`select id, environment_id from audience.frozen_audiences where frozen_at < ${oldest}`;
    return [
      { table: 'audience.segment_transitions', where: sql`occurred_at < ${oldest}` },
      {
        table: 'audience.frozen_audience_members',
        where: sql`(audience_id, environment_id) in (${forgotten})`,
      },
      { table: 'audience.frozen_audiences', where: sql`frozen_at < ${oldest}` },
    ];
  }
}
