import { Inject, Injectable } from '@nestjs/common';
import { type BounceClass, bounceClassesOf, CONSEQUENCES, type Consequences } from '#deliverability';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import type { Sql } from '#platform';
import { addToMinutes } from '../../engagement/events/campaign-counters.query.js';
import { AddressConsequences } from '../../engagement/feedback/address-consequences.service.js';
import type { ClaimedDelivery } from '../../deliveries/delivery.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';

/** Whether more follows from such a refusal than that the delivery failed; what a destination's means, its pace knows. */
export const isReturnedFor = ({ address, stops }: Consequences): boolean =>
  address !== 'keep' || stops === 'domain';
const RETURNED_CLASSES = bounceClassesOf(isReturnedFor);

/** A delivery that the next hop refused for good because of its address or its sender. */
interface ReturnedDelivery {
  readonly delivery: ClaimedDelivery;
  readonly addressKey: string;
  readonly bounceClass: BounceClass;
}

/** How a delivery ended, as it was written down. */
export interface WrittenState {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
}

/**
 * What follows when the next hop itself says that an address does not exist, that its mailbox is full, or that the sender
 * is not accepted.
 */
@Injectable()
export class ReturnedDeliveries {
  constructor(@Inject(AddressConsequences) private readonly addresses: AddressConsequences) {}

  /**
   * In the transaction that wrote down how they ended, at `finishedAt`. Counts before it locks addresses, as everywhere.
   */
  async take(
    scope: ProjectScope,
    db: Sql,
    returned: readonly ReturnedDelivery[],
    finishedAt: Date,
  ): Promise<void> {
    await countRefused(scope, db, returned, finishedAt);
    for (const { delivery, bounceClass } of returned) {
      const { id: deliveryId, kind, subscriberId, address } = delivery;
      await this.addresses.follow(
        scope,
        { deliveryId, kind, subscriberId, address, finishedAt },
        bounceClass,
      );
    }
  }
}

/** Those of the outcomes, of which `written` stand, in the order of their addresses, in which all lock several. */
export function returnedOf(
  outcomes: readonly DeliveryOutcome[],
  written: readonly WrittenState[],
): ReturnedDelivery[] {
  const classes = new Map(
    written.flatMap(({ id, state, reason }) => {
      const bounceClass = state === 'FAILED' ? returnedClass(reason) : null;
      return bounceClass === null ? [] : [[id, bounceClass] as const];
    }),
  );
  const returned = outcomes.flatMap(({ delivery }) => {
    const bounceClass = classes.get(delivery.id);
    const parsed = parseEmailAddress(delivery.address);
    return bounceClass !== undefined && 'address' in parsed
      ? [{ delivery, addressKey: parsed.address.key, bounceClass }]
      : [];
  });
  return returned.sort((a, b) => (a.addressKey < b.addressKey ? -1 : 1));
}

/** Null where nothing follows from the reason of a failure. */
export function returnedClass(reason: string | null): BounceClass | null {
  return RETURNED_CLASSES.find((bounceClass) => bounceClass === reason) ?? null;
}

/** A project's sending, and its domain, are judged by them. */
async function countRefused(
  { environmentId }: ProjectScope,
  db: Sql,
  returned: readonly ReturnedDelivery[],
  at: Date,
): Promise<void> {
  const refused = returned.filter(
    ({ delivery, bounceClass }) => CONSEQUENCES[bounceClass].stops !== null && delivery.kind === 'CAMPAIGN',
  );
  await addToMinutes(
    db,
    refused.map(({ delivery, bounceClass }) => ({
      campaignId: delivery.sourceId,
      environmentId,
      at,
      ...(CONSEQUENCES[bounceClass].stops === 'project' ? { hardRefused: 1 } : { senderRefused: 1 }),
    })),
  );
}
