import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock, newId, type ProjectScope } from '#kernel';
import { logFailure, LOGGER, Loop, MailMetrics, traced, type TracedWork } from '#platform';
import type { NextMail } from '../../deliveries/delivery.js';
import { type DeliveryOutcome, outcomeOf } from '../delivery-outcome.js';
import { DeliveryPacingService } from '../delivery-pacing.service.js';
import type {
  DecidedWork,
  DeliverySource,
  DeliveryWork,
  PreparedDelivery,
  ReadyWork,
} from '../delivery-work.js';
import type { DeliveryRoute } from '../delivery.route.js';
import { RENEW_EVERY_MS } from './delivery-claims.query.js';
import { DeliveryStoreRepository } from './delivery-store.repository.js';
import { groupByScope, SenderState, statementsOf, type WorkGroup } from './sender-state.js';

const POLL_MS = 1_000;
/**
 * An outcome batch costs the database almost as much for one mail as for ten, so near ends are waited for so long
 * (bench/history/campaign.md).
 */
const GATHER_MS = 3;

/**
 * Sends one kind of deliveries by one route. Each outcome batch records the attempts
 * that ended and marks the next ones SENDING; a message goes on the wire only after its mark is committed, and
 * its place is free only after its outcome is. So a killed sender leaves at most `capacity` mails in doubt.
 */
export class DeliverySender {
  readonly #state: SenderState;
  readonly #loop: Loop;
  #signal: (() => void) | undefined;
  #renewal: NodeJS.Timeout | undefined;

  constructor(
    private readonly source: DeliverySource,
    private readonly route: DeliveryRoute,
    private readonly store: DeliveryStoreRepository,
    private readonly pacing: DeliveryPacingService,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    private readonly logger: Logger,
    private readonly random: () => number = Math.random,
  ) {
    this.#state = new SenderState(route);
    this.#loop = new Loop(
      POLL_MS,
      () => this.#pass(),
      (error) => this.#logFailure('sending failed', error),
    );
  }

  start(): void {
    this.#renewal = setInterval(() => void this.#renew(), RENEW_EVERY_MS);
    this.#loop.start();
  }

  /** There may be something to send. */
  wake(): void {
    this.#state.lookAgain();
    this.#loop.wake();
    this.#signal?.();
  }

  /** Takes nothing new, lets what is on the wire end, records it and gives the rest back. */
  async stop(): Promise<void> {
    this.#state.stop();
    this.#signal?.();
    await this.#loop.stop();
    clearInterval(this.#renewal);
    for (const scope of this.#state.unflushedScopes) await this.store.flush(scope);
  }

  /** The steps from a due delivery to its recorded outcome, until nothing is due. Claims and mails run beside them. */
  async #pass(): Promise<void> {
    this.#state.lookAgain();
    for (;;) {
      await this.#giveBackRecalled();
      this.#claimNext();
      if (this.#state.hasBatch) {
        await this.#gather();
        await this.#writeBatch();
      } else if (this.#state.isBusy) await this.#change();
      else return;
    }
  }

  /** A destination was slowed down, or a relay failed: ready mails for it have to be admitted again. */
  async #giveBackRecalled(): Promise<void> {
    const { pacing, route } = this;
    await this.#giveBack(
      this.#isHalted
        ? this.#state.takeReady()
        : this.#state.takeRecalled(
            this.#changes,
            (work) => pacing.isRecalled(work) || route.isRecalled(work),
          ),
    );
  }

  #claimNext(): void {
    const wanted = this.#isHalted ? 0 : this.#state.beginClaim();
    if (wanted > 0) void this.#claim(wanted).finally(() => this.#signal?.());
  }

  /** Claims due deliveries, assigns each its way, and makes their mails. */
  async #claim(limit: number): Promise<void> {
    try {
      const [begunAt, changes] = [performance.now(), this.#changes];
      const works = await this.source.claim(limit, newId());
      const [first] = works;
      if (first !== undefined) this.#state.claimed(first, begunAt);
      const assigned = this.#state.assign(works);
      const prepared = [
        ...assigned.decided,
        ...(await this.source.prepare(assigned.going, this.#state.octets)),
      ];
      this.#state.add(prepared, changes);
      await this.pacing.giveBack(prepared.filter((work) => 'outcome' in work));
      this.#state.endClaim(first === undefined ? 'nothing' : 'found');
    } catch (error) {
      // Deliveries that were claimed in vain come back when their lease ends.
      this.#state.endClaim('failed');
      this.#logFailure('claiming deliveries failed', error);
    }
  }

  /** Waits until half of the places are free: while the outcomes of one half are written, the other is on the wire. */
  async #gather(): Promise<void> {
    const { capacity } = this.route;
    const until = performance.now() + GATHER_MS;
    while (!this.#state.isStopping && this.#state.onWire > capacity / 2 && performance.now() < until) {
      const timer = setTimeout(() => this.#signal?.(), GATHER_MS);
      await this.#change();
      clearTimeout(timer);
    }
  }

  async #writeBatch(): Promise<void> {
    const batch = this.#state.takeBatch();
    try {
      for (const group of statementsOf(batch)) await this.#write(group);
    } catch (error) {
      this.#state.batchFailed(batch);
      throw error;
    }
    this.#state.batchWritten();
  }

  async #write(group: WorkGroup<PreparedDelivery>): Promise<void> {
    const [{ scope, usagePeriod, delivery: first }] = group;
    const ended = group.filter((work) => 'outcome' in work);
    const outcomes = ended.map(({ outcome }) => outcome);
    const mails = group.filter((work) => 'mail' in work);
    const starting = mails.map(({ delivery }) => delivery);
    const flushed = first.leaseEpoch === null;
    const batch = { outcomes, starting, usagePeriod, flushed };
    const { marked, epoch } = await this.store.write(scope, batch, this.clock.now());
    this.#noteWritten(scope, epoch, flushed ? [] : ended);
    for (const { delivery, state } of outcomes) this.metrics.count(delivery.kind, state);
    for (const work of mails) if (marked.has(work.delivery.id)) void this.#send(work);
    await this.#giveBack(mails.filter(({ delivery }) => !marked.has(delivery.id)));
    await this.pacing.giveBack(ended.filter(({ outcome }) => outcome.uncounted));
  }

  async #send(work: ReadyWork): Promise<void> {
    this.#state.start(work);
    let next: ReadyWork | undefined;
    const outcome = await this.#trace(work, () => (next ??= this.#state.offer(work))?.mail);
    this.#state.end(work, outcome, next);
    this.#signal?.();
  }

  #trace(work: ReadyWork, next: NextMail): Promise<DeliveryOutcome> {
    return traced(handingOver(work), async (span) => {
      const { outcome, result } = await this.#deliver(work, next);
      const { state, reason } = outcome;
      const code = 'reply' in result ? result.reply.code : null;
      span?.set({ 'mailwright.result': state, 'mailwright.reason': reason, 'mailwright.reply_code': code });
      if (state !== 'SENT') span?.fail(result.kind);
      return outcome;
    });
  }

  async #deliver(work: ReadyWork, next: NextMail) {
    const { result, changes } = await this.route.deliver(work, next);
    void this.pacing
      .answered(work, result)
      .catch((error: unknown) => this.#logFailure('slowing a destination down failed', error));
    const now = this.clock.now();
    const outcome = outcomeOf(work.delivery, result, work.ambiguousPolicy, now, this.random);
    return { result, outcome: changes === undefined ? outcome : { ...outcome, ...changes } };
  }

  async #giveBack(works: readonly ReadyWork[]): Promise<void> {
    if (works.length === 0) return;
    for (const group of groupByScope(works)) await this.store.release(group[0].scope, deliveriesOf(group));
    await this.pacing.giveBack(works);
  }

  async #renew(): Promise<void> {
    await this.#lookForCrash().catch((error: unknown) =>
      this.#logFailure('the database does not answer', error),
    );
    try {
      for (const group of groupByScope(this.#state.held))
        await this.store.renew(group[0].scope, deliveriesOf(group));
    } catch (error) {
      this.#logFailure('renewing leases failed', error);
    }
  }

  /** The last outcomes of a campaign have no outcome batch after them that would show it. */
  async #lookForCrash(): Promise<void> {
    for (const scope of this.#state.unflushedScopes) {
      const epoch = await this.store.epoch(scope);
      this.#noteWritten(scope, epoch, []);
      this.#state.flushedLongAgo(scope, epoch, performance.now());
    }
  }

  #noteWritten(scope: ProjectScope, epoch: number, unflushed: readonly DecidedWork[]): void {
    const lost = this.#state.written(scope, epoch, unflushed, performance.now());
    if (lost === 0) return;
    this.logger.warn({ outcomes: lost }, 'the database recovered from a crash; writing once more');
    this.#signal?.();
  }

  /** Nothing is to leave now. */
  get #isHalted(): boolean {
    return this.#state.isStopping || this.route.isPaused;
  }

  get #changes(): number {
    return this.pacing.slowDowns + this.route.changes;
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#signal = () => {
        this.#signal = undefined;
        resolve();
      };
    });
  }

  #logFailure(message: string, error: unknown): void {
    logFailure(this.logger, error, message);
  }
}

/**
 * The span of a mail, in the trace of what queued it. A mail of a campaign begins a trace of its own, which names the campaign's:
 * one of a hundred thousand spans could neither be shown nor sampled.
 */
function handingOver({ scope, delivery, relay }: DeliveryWork): TracedWork {
  const { id, kind, sourceId, attempt, traceparent } = delivery;
  return {
    name: 'mail',
    kind: 'client',
    ...(kind === 'CAMPAIGN' ? { parent: null, link: traceparent } : { parent: traceparent }),
    attributes: {
      'mailwright.delivery_id': id,
      'mailwright.source_id': sourceId,
      'mailwright.kind': kind,
      'mailwright.attempt': attempt + 1,
      'mailwright.relay': relay?.relayKey,
      'mailwright.environment_id': scope.environmentId,
    },
  };
}

const deliveriesOf = (works: readonly DeliveryWork[]) => works.map(({ delivery }) => delivery);

/** Makes senders. */
@Injectable()
export class DeliverySenderFactory {
  constructor(
    private readonly store: DeliveryStoreRepository,
    private readonly pacing: DeliveryPacingService,
    private readonly metrics: MailMetrics,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  make(source: DeliverySource, route: DeliveryRoute): DeliverySender {
    const { store, pacing, metrics, clock, logger } = this;
    return new DeliverySender(source, route, store, pacing, metrics, clock, logger);
  }
}
