import { Inject, Injectable } from '@nestjs/common';
import type { DomainWarmUp } from '#deliverability';
import { Clock } from '#kernel';
import type { Admission, DeliveryWork } from '../delivery-source.js';
import { DestinationPace, type Line } from './destination-pace.service.js';
import { WarmUpPace } from './warm-up-pace.service.js';

/** What keeps mail from going faster than is good for it. */
@Injectable()
export class DeliveryPacing {
  constructor(
    @Inject(DestinationPace) readonly pace: DestinationPace,
    @Inject(WarmUpPace) readonly warmUp: WarmUpPace,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Which of the mails of no campaign have a turn with the destination. */
  admitSingles(works: readonly DeliveryWork[], line: Line): Promise<Admission> {
    return this.pace.admit(works, line, this.clock.now());
  }

  /** Which of a campaign's mails have a place on the day of the domain's warm-up, and a turn with the destination. */
  async admitCampaign(
    works: readonly DeliveryWork[],
    campaignId: string,
    warmUp: DomainWarmUp | null,
    now: Date,
  ): Promise<Admission> {
    const today = await this.warmUp.admit(works, warmUp, now);
    const turn = await this.pace.admit(today.going, campaignId, now);
    return { going: turn.going, held: [...today.held, ...turn.held] };
  }
}
