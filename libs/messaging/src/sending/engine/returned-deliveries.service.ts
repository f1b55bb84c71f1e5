import { Injectable } from '@nestjs/common';
import { type BounceClass, bounceClassesOf, CONSEQUENCES, type Consequences } from '#deliverability';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { addToMinutes } from '../../engagement/campaign-counters.repository.js';
import { AddressConsequencesService } from '../../engagement/address-consequences.service.js';
import type { ClaimedDelivery } from '../../deliveries/delivery.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';

/** Whether more follows from such a refusal than that the delivery failed; what a destination's means, its pace knows. */
export const isReturnedFor = ({ address, stops }: Consequences): boolean =>
  address !== 'keep' || stops === 'domain';
const RETURNED_CLASSES: readonly string[] = bounceClassesOf(isReturnedFor);

/** Whether the next hop refused it for good because of its address or its sender. */
export const isReturned = ({ state, reason }: DeliveryOutcome): boolean =>
  state === 'FAILED' && reason !== null && RETURNED_CLASSES.includes(reason);

/** A returned delivery as its row has it. */
export interface ReturnedRow {
  readonly id: string;
  readonly reason: BounceClass;
}

interface ReturnedDelivery {
  readonly delivery: ClaimedDelivery;
  readonly addressKey: string;
  readonly bounceClass: BounceClass;
}

/**
 * What follows when the next hop itself says that an address does not exist, that its mailbox is full, or that the sender
 * is not accepted.
 */
@Injectable()
export class ReturnedDeliveries {
  constructor(
    private readonly database: Database,
    private readonly addresses: AddressConsequencesService,
  ) {}

  /**
   * Of those of the outcomes that the rows in `written` say were returned, in the open transaction, at `finishedAt`. Counts before it locks
   * addresses, as everywhere.
   */
  async take(
    scope: ProjectScope,
    outcomes: readonly DeliveryOutcome[],
    written: readonly ReturnedRow[],
    finishedAt: Date,
  ): Promise<void> {
    const returned = returnedOf(outcomes, written);
    await this.#count(scope, returned, finishedAt);
    for (const { delivery, addressKey, bounceClass } of returned) {
      const { id: deliveryId, kind, subscriberId, address } = delivery;
      const mail = { deliveryId, kind, subscriberId, address, addressKey, finishedAt };
      await this.addresses.follow(scope, mail, bounceClass);
    }
  }

  /** A project's sending, and its domain, are judged by them. */
  #count({ environmentId }: ProjectScope, returned: readonly ReturnedDelivery[], at: Date): Promise<void> {
    const changes = returned.flatMap(({ delivery: { kind, sourceId: campaignId }, bounceClass }) => {
      const { stops } = CONSEQUENCES[bounceClass];
      if (stops === null || kind !== 'CAMPAIGN') return [];
      const counted = stops === 'project' ? { hardRefused: 1 } : { senderRefused: 1 };
      return [{ campaignId, environmentId, at, ...counted }];
    });
    return addToMinutes(this.database, changes);
  }
}

/** In the order of their addresses, in which all lock several. */
function returnedOf(
  outcomes: readonly DeliveryOutcome[],
  written: readonly ReturnedRow[],
): ReturnedDelivery[] {
  const classes = new Map(written.map(({ id, reason }) => [id, reason]));
  const returned = outcomes.flatMap(({ delivery }) => {
    const bounceClass = classes.get(delivery.id);
    const parsed = parseEmailAddress(delivery.address);
    return bounceClass !== undefined && 'address' in parsed
      ? [{ delivery, addressKey: parsed.address.key, bounceClass }]
      : [];
  });
  return returned.sort((a, b) => (a.addressKey < b.addressKey ? -1 : 1));
}
