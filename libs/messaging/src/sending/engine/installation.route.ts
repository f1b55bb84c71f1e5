import type { Logger } from 'pino';
import type { Clock } from '#kernel';
import type { MailMetrics, SendOutcome } from '#platform';
import { isInDoubt, outcomeOfDoubt } from '../delivery-outcome.js';
import type { NextMail } from '../../deliveries/delivery.js';
import type { DeliveryWork, ReadyWork } from '../delivery-work.js';
import type { Assigned, DeliveredResult, DeliveryRoute, DeliveryTransport } from '../delivery.route.js';
import { RoutePause } from './route-pause.js';

/** Outcome batches that are prepared ahead, at least. */
const AHEAD = 5;

/** The way by the installation's relay, and into the test inbox. It pauses while the next hop cannot be reached. */
export class InstallationRoute implements DeliveryRoute {
  readonly changes = 0;
  readonly #pause = new RoutePause();

  constructor(
    private readonly transport: DeliveryTransport,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {}

  get capacity(): number {
    return this.transport.capacity;
  }

  get isPaused(): boolean {
    return this.#pause.isOn(this.clock.now().getTime());
  }

  toClaim(ready: readonly ReadyWork[]): number {
    const low = this.capacity * AHEAD;
    return ready.length >= low ? 0 : low * 2 - ready.length;
  }

  assign(works: readonly DeliveryWork[]): Assigned {
    const isElsewhere = ({ delivery }: DeliveryWork) => isInDoubt(delivery) && delivery.relayKey !== null;
    const now = this.clock.now();
    return {
      going: works.filter((work) => !isElsewhere(work)).map(byInstallation),
      decided: works
        .filter(isElsewhere)
        .map((work) => ({ ...work, outcome: outcomeOfDoubt(work, false, now) })),
    };
  }

  /** After a failure one mail finds out whether it works again. */
  startable(ready: readonly ReadyWork[], onWire: number): readonly ReadyWork[] {
    const places = this.#pause.isFailing ? 1 : this.capacity;
    return ready.slice(0, Math.max(0, places - onWire));
  }

  starting(): void {}

  isRecalled(): boolean {
    return false;
  }

  async deliver({ mail }: ReadyWork, next: NextMail): Promise<DeliveredResult> {
    const result = await this.transport.send(mail, next);
    this.#watch(result);
    return { result };
  }

  #watch(result: SendOutcome): void {
    const wasFailing = this.#pause.isFailing;
    if (this.#pause.after(result, this.clock.now().getTime())) {
      this.metrics.routePaused(this.#pause.until);
      this.logger.warn({ seconds: this.#pause.seconds }, 'the next hop cannot be reached; mail waits');
    } else if (wasFailing && !this.#pause.isFailing) this.metrics.routeAnswered();
  }
}

function byInstallation(work: DeliveryWork): DeliveryWork {
  return work.delivery.relayKey === null ? work : { ...work, delivery: { ...work.delivery, relayKey: null } };
}
