import { Inject, Injectable } from '@nestjs/common';
import { EventBatch, type EventFacts } from '../events/event-batch.query.js';
import { TrackedEvents } from '../events/tracked-events.service.js';
import { isNumbered, LinkSets } from './link-sets.service.js';
import { classificationOf } from './user-agent.js';
import type { RequestBlock } from './waiting-requests.service.js';

/** Records requests for pixels and tracked links as opens and clicks. */
@Injectable()
export class TrackedRequests {
  constructor(
    @Inject(LinkSets) private readonly linkSets: LinkSets,
    @Inject(TrackedEvents) private readonly events: TrackedEvents,
  ) {}

  async write(block: RequestBlock): Promise<void> {
    const batch = new EventBatch(block.length);
    const sets = await this.#setsOf(block, batch);
    for (let index = 0; index < block.length; index += 1) {
      const set = sets.get(block.linkSet(index));
      if (set !== undefined)
        batch.add(set.mailing, block.bytes, block.deliveryIdBegin(index), factsOf(block, index, set));
    }
    await this.events.writeBatch(batch);
  }

  /** The link sets that its links are of, except those that no longer exist. */
  async #setsOf(block: RequestBlock, batch: EventBatch): Promise<Map<number, NumberedSet>> {
    const seen = new Set<number>();
    const found = new Map<number, NumberedSet>();
    for (let index = 0; index < block.length; index += 1) {
      const number = block.linkSet(index);
      if (seen.has(number)) continue;
      seen.add(number);
      const set = await this.linkSets.find(block.request(index).claims);
      if (set === null) continue;
      found.set(number, { mailing: batch.mailing(set), urls: isNumbered(set) ? [] : set.urls });
    }
    return found;
  }
}

/** A link set as a batch needs it. */
interface NumberedSet {
  readonly mailing: number;
  /** None where an event's link is known by its number. */
  readonly urls: readonly string[];
}

function factsOf(block: RequestBlock, index: number, { urls }: NumberedSet): EventFacts {
  const place = block.place(index);
  const agent = block.agent(index);
  return {
    type: place === 0 ? 'OPENED' : 'CLICKED',
    linkNumber: place === 0 ? null : place,
    url: urls[place - 1] ?? null,
    at: block.at(index),
    known: block.isLookAhead(index) ? 'scanner' : classificationOf(agent),
    agent,
  };
}
