import { Injectable } from '@nestjs/common';
import { EventBatch, type EventFacts } from '../events/event-batch.query.js';
import { TrackedEvents } from '../events/tracked-events.service.js';
import { isNumbered, type LinkSet, LinkSets } from './link-sets.service.js';
import { classificationOf } from './user-agent.js';
import type { RequestBlock } from './waiting-requests.service.js';

/** Records requests for pixels and tracked links as opens and clicks. */
@Injectable()
export class TrackedRequests {
  constructor(
    private readonly linkSets: LinkSets,
    private readonly events: TrackedEvents,
  ) {}

  async write(block: RequestBlock): Promise<void> {
    const sets = numbered(block, await this.#setsOf(block));
    for (let index = 0; index < block.length; index += 1) {
      const set = sets.get(block.linkSet(index));
      if (set !== undefined)
        set.batch.add(set.mailing, block.bytes, block.deliveryIdBegin(index), factsOf(block, index, set));
    }
    await this.events.writeBatches([...new Set([...sets.values()].map(({ batch }) => batch))]);
  }

  /** The link sets that its links are of, except those that no longer exist. */
  async #setsOf(block: RequestBlock): Promise<Map<number, LinkSet>> {
    const seen = new Set<number>();
    const found = new Map<number, LinkSet>();
    for (let index = 0; index < block.length; index += 1) {
      const number = block.linkSet(index);
      if (seen.has(number)) continue;
      seen.add(number);
      const set = await this.linkSets.find(block.request(index).claims);
      if (set !== null) found.set(number, set);
    }
    return found;
  }
}

/** A link set as a batch needs it. */
interface NumberedSet {
  /** That of its environment. */
  readonly batch: EventBatch;
  readonly mailing: number;
  /** None where an event's link is known by its number. */
  readonly urls: readonly string[];
}

/** With a batch for each environment that has room for its requests. */
function numbered(block: RequestBlock, found: ReadonlyMap<number, LinkSet>): Map<number, NumberedSet> {
  const rooms = new Map<number, number>();
  for (let index = 0; index < block.length; index += 1) {
    const environmentId = found.get(block.linkSet(index))?.environmentId;
    if (environmentId !== undefined) rooms.set(environmentId, (rooms.get(environmentId) ?? 0) + 1);
  }
  const batches = new Map([...rooms].map(([id, room]) => [id, new EventBatch(id, room)]));
  return new Map(
    [...found].map(([number, set]) => {
      const batch = batches.get(set.environmentId)!;
      return [number, { batch, mailing: batch.mailing(set), urls: isNumbered(set) ? [] : set.urls }];
    }),
  );
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
