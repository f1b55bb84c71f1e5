import type { Logger } from 'pino';
import type { Clock } from '#kernel';
import { describeError, type MailMetrics, type SendOutcome } from '#platform';
import { type DeliveryOutcome, outcomeOf } from '../delivery-outcome.js';
import type { DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import type { DeliveryTransport } from '../transports/delivery.transport.js';
import { RoutePause } from './route-pause.js';

export interface RouteParts {
  readonly transport: DeliveryTransport;
  readonly pacing: DeliveryPacing;
  readonly metrics: MailMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

export type ReadyWork = Extract<PreparedDelivery, { readonly mail: unknown }>;

/** A sender's way to the next hop: it pauses while the next hop cannot be reached. */
export class DeliveryRoute {
  readonly #pause = new RoutePause();

  constructor(private readonly parts: RouteParts) {}

  /** How many mails may be on their way at once. */
  get capacity(): number {
    return this.parts.transport.capacity;
  }

  /** The same just now: after a failure one mail finds out whether it works again. */
  get places(): number {
    return this.#pause.isFailing ? 1 : this.capacity;
  }

  get isPaused(): boolean {
    return this.#pause.isOn(this.parts.clock.now().getTime());
  }

  /** Sends a mail and resolves to how that leaves its delivery. */
  async send(work: ReadyWork): Promise<DeliveryOutcome> {
    const { transport, pacing, clock, logger, random } = this.parts;
    const result = await transport.deliver(work.mail, mayBeInDoubt(work));
    this.#watch(result);
    void pacing.answered(work, result).catch((error: unknown) => {
      logger.error({ error: describeError(error) }, 'slowing a destination down failed');
    });
    return outcomeOf(work.delivery, result, work.ambiguousPolicy, clock.now(), random);
  }

  #watch(result: SendOutcome): void {
    const { metrics, clock, logger } = this.parts;
    const wasFailing = this.#pause.isFailing;
    if (this.#pause.after(result, clock.now().getTime())) {
      metrics.routePaused(this.#pause.until);
      logger.warn({ seconds: this.#pause.seconds }, 'the next hop cannot be reached; mail waits');
    } else if (wasFailing && !this.#pause.isFailing) metrics.routeAnswered();
  }
}

/** Whether a mail may leave at once: one more attempt is made at it, should nobody know whether it arrived. */
function mayBeInDoubt({ ambiguousPolicy, delivery }: DeliveryWork): boolean {
  return ambiguousPolicy === 'RESEND' && !delivery.interrupted && !delivery.possibleDuplicate;
}
