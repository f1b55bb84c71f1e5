import { Injectable } from '@nestjs/common';
import { DestinationBudgets, providerOf, SLOW_DOWNS_CHANNEL } from '#deliverability';
import { MailMetrics, Notifications } from '#platform';

const LOOK_EVERY_MS = 10_000;

/** Which destinations are slowed down, as this worker knows: told at once, and looked up now and then. */
@Injectable()
export class SlowedDestinations {
  readonly #until = new Map<string, number>();
  #lookedAt = Number.NEGATIVE_INFINITY;
  #changes = 0;

  constructor(
    private readonly budgets: DestinationBudgets,
    private readonly metrics: MailMetrics,
  ) {}

  /** Calls `changed` when another worker has slowed a destination down. Returns how to end it. */
  listen(notifications: Notifications, changed: () => void): () => void {
    return notifications.listen(SLOW_DOWNS_CHANNEL, (payload) => {
      if (payload === null) this.#lookedAt = Number.NEGATIVE_INFINITY;
      else {
        const { destination, until } = JSON.parse(payload) as { destination: string; until: string };
        this.add(destination, new Date(until));
      }
      changed();
    });
  }

  get changes(): number {
    return this.#changes;
  }

  has(destination: string, at: Date): boolean {
    return (this.#until.get(destination) ?? 0) > at.getTime();
  }

  add(destination: string, until: Date): void {
    if (this.has(destination, new Date(until.getTime() - 1))) return;
    this.#until.set(destination, until.getTime());
    this.#changes += 1;
    this.metrics.isSlowUntil(providerOf(destination), until);
  }

  async refresh(now: Date): Promise<void> {
    if (performance.now() - this.#lookedAt < LOOK_EVERY_MS) return;
    this.#lookedAt = performance.now();
    for (const [destination, until] of this.#until)
      if (until <= now.getTime()) this.#until.delete(destination);
    for (const { destination, until } of await this.budgets.slowed(now)) this.add(destination, until);
  }
}
