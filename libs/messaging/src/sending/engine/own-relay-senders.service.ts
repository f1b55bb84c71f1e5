import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { logFailure, LOGGER, Loop } from '#platform';
import { OwnRelaysRoute } from './own-relays.route.js';
import { RelaysInUseService } from './relays-in-use.service.js';
import { DeliveryClaimsQuery, type OwnStream } from './delivery-claims.query.js';
import { type DeliverySender, DeliverySenderFactory } from './delivery-sender.service.js';
import { DeliverySourcesService } from './delivery-sources.service.js';

const LOOK_EVERY_MS = 1_000;
/** A sender with nothing to do is kept for so long. */
const IDLE_MS = 30_000;

interface RunningSender {
  readonly environmentId: number;
  readonly sender: DeliverySender;
  busyAt: number;
}

/**
 * Sends the mail of projects that have relays of their own, each stream by a sender of its own: relays that fail or are slow hold
 * up nobody else. Senders are started when there is something to send.
 */
@Injectable()
export class OwnRelaySendersService {
  readonly #running = new Map<string, RunningSender>();
  readonly #ending = new Set<Promise<void>>();
  readonly #loops: readonly Loop[];

  constructor(
    private readonly claims: DeliveryClaimsQuery,
    private readonly sources: DeliverySourcesService,
    private readonly factory: DeliverySenderFactory,
    private readonly relays: RelaysInUseService,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loops = [
      this.#loop(() => this.#look(), "looking for mail by projects' own relays failed"),
      this.#loop(() => this.relays.tryFailing(), 'trying relays again failed'),
    ];
  }

  start(): void {
    for (const loop of this.#loops) loop.start();
  }

  wake(): void {
    for (const { sender } of this.#running.values()) sender.wake();
  }

  async stop(): Promise<void> {
    await Promise.all(this.#loops.map((loop) => loop.stop()));
    await Promise.all([...this.#ending, ...[...this.#running.values()].map(({ sender }) => sender.stop())]);
    this.#running.clear();
    await this.relays.close();
  }

  async #look(): Promise<void> {
    const now = performance.now();
    const started: DeliverySender[] = [];
    for (const stream of await this.claims.ownStreamsUnderWay()) {
      const key = `${stream.scope.environmentId}/${stream.stream}`;
      const running = this.#running.get(key) ?? this.#make(stream);
      if (!this.#running.has(key)) started.push(running.sender);
      running.busyAt = now;
      this.#running.set(key, running);
    }
    await this.relays.refresh();
    for (const sender of started) sender.start();
    this.#endIdle(now);
  }

  #make({ scope, stream }: OwnStream): RunningSender {
    const { environmentId } = scope;
    const relays = this.relays.of(environmentId, () => this.#wakeOf(environmentId));
    const source = this.sources.ofStream(scope, stream);
    const sender = this.factory.make(source, new OwnRelaysRoute(stream, relays, this.clock));
    return { environmentId, sender, busyAt: 0 };
  }

  #wakeOf(environmentId: number): void {
    for (const running of this.#running.values())
      if (running.environmentId === environmentId) running.sender.wake();
  }

  /** Nobody waits for them here: a mail on the wire of one may take minutes. */
  #endIdle(now: number): void {
    for (const [key, { busyAt, environmentId, sender }] of this.#running) {
      if (now - busyAt < IDLE_MS) continue;
      this.#running.delete(key);
      const ended = this.#end(environmentId, sender).finally(() => this.#ending.delete(ended));
      this.#ending.add(ended);
    }
  }

  async #end(environmentId: number, sender: DeliverySender): Promise<void> {
    try {
      await sender.stop();
      const isUsed = [...this.#running.values()].some((running) => running.environmentId === environmentId);
      if (!isUsed) await this.relays.forget(environmentId);
    } catch (error) {
      logFailure(this.logger, error, 'ending an idle sender failed');
    }
  }

  #loop(pass: () => Promise<void>, complaint: string): Loop {
    return new Loop(LOOK_EVERY_MS, pass, (error) => logFailure(this.logger, error, complaint));
  }
}
