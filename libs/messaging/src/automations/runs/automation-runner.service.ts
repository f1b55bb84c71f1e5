import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { TRIGGERS_CHANNEL } from '#audience';
import { Clock } from '#kernel';
import { logFailure, LOGGER, Loop, Notifications } from '#platform';
import { AutomationWork, type Piece } from './automation-work.service.js';
import { Backoffs } from './backoffs.js';
import { RUNS_CHANNEL } from './runs.channel.js';

/** How late a step may be when no notification comes. */
const POLL_MS = 500;

/**
 * Runs automations, in every worker: creates runs, takes their steps when they are due, ends them. It polls the tables and
 * sets no timers, so a run that waits costs nothing but a row, and what was due while every worker was down is done.
 */
@Injectable()
export class AutomationRunner {
  readonly #loop: Loop;
  #stopListening: readonly (() => void)[] = [];
  readonly #backoffs = new Backoffs();
  #stopping = false;

  constructor(
    private readonly work: AutomationWork,
    private readonly notifications: Notifications,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => this.#complain(error),
    );
  }

  start(): void {
    this.#stopListening = [TRIGGERS_CHANNEL, RUNS_CHANNEL].map((channel) =>
      this.notifications.listen(channel, () => this.#loop.wake()),
    );
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    for (const stop of this.#stopListening) stop();
    await this.#loop.stop();
  }

  /** Does all that is due, a piece of each automation at a time. One that fails waits for its backoff and does not hold up the others. */
  async pass(): Promise<void> {
    for (let isMore = true; isMore && !this.#stopping;) {
      isMore = false;
      for (const piece of await this.work.pieces()) {
        if (await this.#try(piece)) isMore = true;
      }
    }
  }

  async #try({ of, work }: Piece): Promise<boolean> {
    if (this.#stopping || this.#backoffs.isWaiting(of, this.clock.now())) return false;
    try {
      const isMore = await work();
      this.#backoffs.succeeded(of);
      return isMore;
    } catch (error) {
      this.#complain(error, { of, backoffMs: this.#backoffs.failed(of, this.clock.now()) });
      return false;
    }
  }

  #complain(error: unknown, what: { readonly of?: string; readonly backoffMs?: number } = {}): void {
    logFailure(this.logger, error, 'the work of an automation failed', what);
  }
}
