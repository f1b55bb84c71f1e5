import { Injectable } from '@nestjs/common';
import { Database } from '#platform';
import { burstsOf } from './bursts.js';
import { EventBatch } from './event-batch.query.js';
import { MailPublisher } from './mail-publisher.service.js';
import type { TrackedEvent } from './tracked-event.js';
import {
  type BurstCandidate,
  burstCandidates,
  disownClicks,
  takeTurns,
  recordEvents,
} from './tracked-events.query.js';

/** Classifies opens and clicks, records them, and counts them in the same transaction. */
@Injectable()
export class TrackedEvents {
  constructor(
    private readonly database: Database,
    private readonly publisher: MailPublisher,
  ) {}

  /** Events of deliveries that are neither a campaign's nor an automation's, or are gone, are left out. */
  write(events: readonly TrackedEvent[]): Promise<void> {
    const ofEach = Map.groupBy(events, ({ environmentId }) => environmentId);
    return this.writeBatches(
      [...ofEach].map(([environmentId, ofOne]) => EventBatch.of(environmentId, ofOne)),
    );
  }

  /** The same of many that are batches already, in one transaction. */
  async writeBatches(batches: readonly EventBatch[]): Promise<void> {
    if (batches.length === 0) return;
    // The environment of each event comes from a signed token.
    await this.database.system(async () => {
      await takeTurns(this.database, batches);
      for (const batch of batches) await this.#write(batch);
    });
  }

  async #write(batch: EventBatch): Promise<void> {
    const bursts = await this.#burstsAround(batch);
    const positions = bursts.flatMap(({ position }) => position ?? []);
    await recordEvents(this.database, batch, positions);
    const mistaken = bursts.filter(({ classification }) => classification === 'human');
    if (mistaken.length > 0) await disownClicks(this.database, batch, mistaken);
    await this.publisher.engaged(batch);
  }

  async #burstsAround(batch: EventBatch): Promise<BurstCandidate[]> {
    if (!batch.hasClicks) return [];
    const candidates = await burstCandidates(this.database, batch);
    const byMail = Map.groupBy(candidates, ({ deliveryId }) => deliveryId);
    return [...byMail.values()].flatMap((ofOne) => [...burstsOf(ofOne)]);
  }
}
