import { Inject, Injectable } from '@nestjs/common';
import { Database, type Sql } from '#platform';
import { burstsOf } from './bursts.js';
import { EventBatch } from './event-batch.query.js';
import { MailAnnouncements } from './mail-announcements.service.js';
import type { TrackedEvent } from './tracked-event.js';
import {
  type BurstCandidate,
  burstCandidates,
  disownClicks,
  takeTurns,
  recordEvents,
} from './tracked-events.query.js';

/** Writes opens and clicks down, judged, and counts them in the same transaction. */
@Injectable()
export class TrackedEvents {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(MailAnnouncements) private readonly announcements: MailAnnouncements,
  ) {}

  /** Events of deliveries that are neither a campaign's nor an automation's, or are gone, are left out. */
  write(events: readonly TrackedEvent[]): Promise<void> {
    return this.writeBatch(EventBatch.of(events));
  }

  /** The same of many that are a batch already. */
  async writeBatch(batch: EventBatch): Promise<void> {
    if (batch.length === 0) return;
    // The environment of each event comes from a signed token: one batch may hold those of many.
    await this.database.system(async ({ db }) => {
      await takeTurns(db, batch);
      const bursts = await burstsAround(db, batch);
      await recordEvents(
        db,
        batch,
        bursts.flatMap(({ position }) => position ?? []),
      );
      const mistaken = bursts.filter(({ classification }) => classification === 'human');
      if (mistaken.length > 0) await disownClicks(db, mistaken);
      await this.announcements.engaged(db, batch);
    });
  }
}

async function burstsAround(db: Sql, batch: EventBatch): Promise<BurstCandidate[]> {
  if (!batch.hasClicks) return [];
  const candidates = Map.groupBy(await burstCandidates(db, batch), ({ deliveryId }) => deliveryId);
  return [...candidates.values()].flatMap((ofOne) => [...burstsOf(ofOne)]);
}
