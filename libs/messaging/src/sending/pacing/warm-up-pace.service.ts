import { Inject, Injectable } from '@nestjs/common';
import { type DomainWarmUp, WarmUpPlaces } from '#deliverability';
import { type Config, CONFIG, MailMetrics } from '#platform';
import { held } from '../delivery-outcome.js';
import type { Admission, DeliveryWork } from '../delivery-source.js';

/** Holds campaigns of a new domain to the cap of its day. */
@Injectable()
export class WarmUpPace {
  constructor(
    private readonly places: WarmUpPlaces,
    private readonly metrics: MailMetrics,
    @Inject(CONFIG) private readonly config: Config,
  ) {}

  /** Mails of one campaign. A mail takes one place, with its first attempt; what finds none waits for the next day. */
  async admit(works: readonly DeliveryWork[], warmUp: DomainWarmUp | null, now: Date): Promise<Admission> {
    const fresh = works.filter(({ delivery }) => delivery.attempt === 0);
    const [first] = fresh;
    if (warmUp === null || first === undefined || !this.config.THROTTLE) return { going: works, held: [] };
    const places = await this.places.take(first.scope, warmUp, fresh.length);
    const waiting = fresh.slice(places);
    if (waiting.length > 0) this.metrics.held('warm-up', 'all', waiting.length);
    return {
      going: [
        ...works.filter(({ delivery }) => delivery.attempt > 0),
        ...fresh.slice(0, places).map((work) => ({ ...work, warmUp })),
      ],
      held: waiting.map((work) => ({
        ...work,
        outcome: held(work.delivery, 'warm-up', warmUp.day.endsAt, now),
      })),
    };
  }

  /** Gives back the places of mails that did not leave. */
  async giveBack(works: readonly DeliveryWork[]): Promise<void> {
    const placed = works.flatMap(({ scope, warmUp }) => (warmUp === undefined ? [] : [{ scope, warmUp }]));
    const ofDay = ({ warmUp: { domainId, day } }: (typeof placed)[number]) =>
      `${domainId}/${day.startsAt.getTime()}`;
    for (const group of Map.groupBy(placed, ofDay).values()) {
      const [first] = group;
      if (first !== undefined) await this.places.giveBack(first.scope, first.warmUp, group.length);
    }
  }
}
