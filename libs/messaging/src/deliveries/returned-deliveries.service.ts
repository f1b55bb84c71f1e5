import { Inject, Injectable } from '@nestjs/common';
import { consentProof, SuppressionsService } from '#audience';
import type { BounceClass } from '#deliverability';
import { type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import type { Sql } from '#platform';
import { addToMinutes } from '../tracking/campaign-counters.query.js';
import { isMailboxGivenUp } from '../tracking/mailbox-streaks.query.js';
import type { ClaimedDelivery } from './delivery.js';
import type { DeliveryOutcome } from './delivery-outcome.js';

/** A delivery that the next hop refused for good because of its address. */
interface ReturnedDelivery {
  readonly delivery: ClaimedDelivery;
  readonly address: Pick<EmailAddress, 'value' | 'key'>;
  readonly bounceClass: Extract<BounceClass, 'hard' | 'mailbox'>;
}

interface WrittenState {
  readonly id: string;
  readonly state: string;
  readonly reason: string | null;
}

/** What follows when the next hop itself says that an address does not exist, or that its mailbox is full. */
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
    written.flatMap(({ id, state, reason }) =>
      state === 'FAILED' && (reason === 'hard' || reason === 'mailbox') ? [[id, reason] as const] : [],
    ),
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

/** A project's sending is judged by them. */
async function countRefused(
  { environmentId }: ProjectScope,
  db: Sql,
  returned: readonly ReturnedDelivery[],
  at: Date,
): Promise<void> {
  const refused = returned.filter(
    ({ delivery, bounceClass }) => bounceClass === 'hard' && delivery.kind === 'CAMPAIGN',
  );
  await addToMinutes(
    db,
    refused.map(({ delivery }) => ({ campaignId: delivery.sourceId, environmentId, at, hardRefused: 1 })),
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
