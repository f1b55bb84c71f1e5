import { Injectable } from '@nestjs/common';
import type { DomainWarmUp } from '#deliverability';
import { Clock } from '#kernel';
import type { SendOutcome } from '#platform';
import type { Admission, DeliveryWork } from '../delivery-source.js';
import { DestinationPace, type Line } from './destination-pace.service.js';
import { WarmUpPace } from './warm-up-pace.service.js';

/**
 * Keeps mail from going faster than is good for it: than its destination takes it, and than a new domain is trusted with. Mail by
 * a project's own relays is no part of what destinations make of the installation's: there its provider keeps the pace.
 */
@Injectable()
export class DeliveryPacing {
  constructor(
    private readonly destinations: DestinationPace,
    private readonly warmUp: WarmUpPace,
    private readonly clock: Clock,
  ) {}

  /** Which of the mails of no campaign have a turn with their destination. */
  admitSingles(works: readonly DeliveryWork[], line: Line): Promise<Admission> {
    return this.#admit(works, line, this.clock.now());
  }

  /** Which of a campaign's mails have a place on the day of the domain's warm-up, and a turn with their destination. */
  async admitCampaign(
    works: readonly DeliveryWork[],
    campaignId: string,
    warmUp: DomainWarmUp | null,
    now: Date,
  ): Promise<Admission> {
    const today = await this.warmUp.admit(works, warmUp, now);
    const turn = await this.#admit(today.going, campaignId, now);
    return { going: turn.going, held: [...today.held, ...turn.held] };
  }

  /** Mails that were admitted and did not leave: others of the day may take their places. */
  giveBack(works: readonly DeliveryWork[]): Promise<void> {
    return this.warmUp.giveBack(works);
  }

  /** Slows the destination down when it answers that it does not trust us. */
  async answered(work: DeliveryWork, result: SendOutcome): Promise<void> {
    if (work.relay === undefined) await this.destinations.answered(work, result, this.clock.now());
  }

  /** How often this worker has heard of a destination that is slowed down: `isRecalled` changes with it. */
  get slowDowns(): number {
    return this.destinations.slowDowns;
  }

  /** Whether a mail that was admitted has to be admitted anew, since its destination was slowed down after that. */
  isRecalled(work: DeliveryWork): boolean {
    return work.relay === undefined && this.destinations.isRecalled(work, this.clock.now());
  }

  #admit(works: readonly DeliveryWork[], line: Line, now: Date): Promise<Admission> {
    // All of a sender's go by relays of their own, or none.
    if (works[0]?.relay !== undefined) return Promise.resolve({ going: works, held: [] });
    return this.destinations.admit(works, line, now);
  }
}
