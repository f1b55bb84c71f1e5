import { Inject, Injectable } from '@nestjs/common';
import { consentProof, SuppressionsService } from '#audience';
import type { BounceClass } from '#deliverability';
import { type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import type { Sql } from '#platform';
import { addToMinutes } from '../../engagement/events/campaign-counters.query.js';
import { isMailboxGivenUp } from '../../engagement/events/mailbox-streaks.query.js';
import type { ClaimedDelivery } from '../../deliveries/delivery.js';
import type { DeliveryOutcome } from '../delivery-outcome.js';

/** The classes of refusals that something follows from. */
const CLASSES = ['hard', 'mailbox', 'sender'] as const satisfies readonly BounceClass[];
type ReturnedClass = (typeof CLASSES)[number];

/** A delivery that the next hop refused for good because of its address or its sender. */
interface ReturnedDelivery {
  readonly delivery: ClaimedDelivery;
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  readonly bounceClass: ReturnedClass;
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
  constructor(@Inject(SuppressionsService) private readonly suppressions: SuppressionsService) {}

  /**
   * In the transaction that wrote down how they ended, at `finishedAt`. An address that does not exist gets no more mail,
   * nor does a mailbox that has turned it away for weeks. Counts before it locks addresses, as everywhere.
   */
  async take(
    scope: ProjectScope,
    db: Sql,
    returned: readonly ReturnedDelivery[],
    finishedAt: Date,
  ): Promise<void> {
    await countRefused(scope, db, returned, finishedAt);
    for (const { delivery, address, bounceClass } of returned) {
      const { id, subscriberId } = delivery;
      // Says nothing of the address: the domain is judged by it.
      if (bounceClass === 'sender') continue;
      if (bounceClass === 'mailbox' && !(await isGivenUp(scope, db, delivery, finishedAt))) continue;
      const proof = consentProof('BOUNCE', id);
      // By the person, who may have been erased meanwhile and must not come back with an address.
      if (subscriberId === null) await this.suppressions.suppress(scope, address, 'HARD_BOUNCE', proof);
      else await this.suppressions.suppressSubscriber(scope, subscriberId, 'HARD_BOUNCE', proof);
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
      ? [{ delivery, address: parsed.address, bounceClass }]
      : [];
  });
  return returned.sort((a, b) => (a.address.key < b.address.key ? -1 : 1));
}

/** Null where nothing follows from the reason of a failure. */
export function returnedClass(reason: string | null): ReturnedClass | null {
  return CLASSES.find((bounceClass) => bounceClass === reason) ?? null;
}

/** A project's sending, and its domain, are judged by them. */
async function countRefused(
  { environmentId }: ProjectScope,
  db: Sql,
  returned: readonly ReturnedDelivery[],
  at: Date,
): Promise<void> {
  const refused = returned.filter(
    ({ delivery, bounceClass }) => bounceClass !== 'mailbox' && delivery.kind === 'CAMPAIGN',
  );
  await addToMinutes(
    db,
    refused.map(({ delivery, bounceClass }) => ({
      campaignId: delivery.sourceId,
      environmentId,
      at,
      ...(bounceClass === 'hard' ? { hardRefused: 1 } : { senderRefused: 1 }),
    })),
  );
}

async function isGivenUp(
  scope: ProjectScope,
  db: Sql,
  { kind, subscriberId }: ClaimedDelivery,
  finishedAt: Date,
): Promise<boolean> {
  if (kind !== 'CAMPAIGN' || subscriberId === null) return false;
  return isMailboxGivenUp(scope, db, { subscriberId, finishedAt });
}
