import type { Logger } from 'pino';
import { type Clock, newId, type ProjectScope } from '#kernel';
import { describeError, Loop, type MailMetrics, type SendOutcome } from '#platform';
import type { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import type { DeliveryJournal } from './delivery-journal.service.js';
import { type DeliveryOutcome, outcomeOf } from '../delivery-outcome.js';
import type { DeliverySource, DeliveryWork, PreparedDelivery } from '../delivery-source.js';
import type { DeliveryTransport } from '../transports/delivery.transport.js';
import { RENEW_EVERY_MS } from './lease.js';
import { groupByScope, outcomeBatchesOf } from './outcome-groups.js';
import { RoutePause } from './route-pause.js';
import { UnflushedOutcomes } from './unflushed-outcomes.js';

const POLL_MS = 1_000;
/** How many outcome batches are prepared ahead, at least. */
const AHEAD = 5;
/** An outcome batch costs the database almost as much for one mail as for ten, so near ends are waited for so long. */
const GATHER_MS = 3;
/** Nothing that is written stays unflushed longer. */
const FLUSHED_AFTER_MS = 3_000;

export interface SenderParts {
  readonly source: DeliverySource;
  readonly transport: DeliveryTransport;
  readonly journal: DeliveryJournal;
  readonly pacing: DeliveryPacing;
  readonly metrics: MailMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

type ReadyWork = Extract<PreparedDelivery, { readonly mail: unknown }>;

interface FinishedWork extends DeliveryWork {
  readonly outcome: DeliveryOutcome;
}

/**
 * Sends one kind of deliveries through one transport. Each outcome batch records the attempts
 * that ended and marks the next ones SENDING; a mail goes on the wire only after its mark is committed, and
 * its place is free only after its outcome is. So a killed sender leaves at most `capacity` mails in doubt.
 */
export class DeliverySender {
  readonly #loop: Loop;
  readonly #onWire = new Map<string, DeliveryWork>();
  readonly #pause = new RoutePause();
  #ready: ReadyWork[] = [];
  #finished: FinishedWork[] = [];
  readonly #unflushed = new UnflushedOutcomes<FinishedWork>();
  #claiming = false;
  #seenSlowDowns = 0;
  #exhausted = false;
  #stopping = false;
  #signal: (() => void) | undefined;
  #renewal: NodeJS.Timeout | undefined;

  constructor(private readonly parts: SenderParts) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.#pass(),
      (error) => this.#complain('sending failed', error),
    );
  }

  start(): void {
    this.#renewal = setInterval(() => void this.#renew(), RENEW_EVERY_MS);
    this.#loop.start();
  }

  /** There may be something to send. */
  wake(): void {
    this.#exhausted = false;
    this.#loop.wake();
    this.#signal?.();
  }

  /** Takes nothing new, lets what is on the wire end, records it and gives the rest back. */
  async stop(): Promise<void> {
    this.#stopping = true;
    this.#signal?.();
    await this.#loop.stop();
    clearInterval(this.#renewal);
    if (this.#unflushed.size > 0) await this.parts.journal.flush();
  }

  async #pass(): Promise<void> {
    this.#exhausted = false;
    for (;;) {
      if (this.#stopping || this.#pause.isOn(this.#nowMs())) await this.#giveBack();
      else await this.#refill();
      if (this.#hasBatch()) {
        await this.#gather();
        await this.#writeBatch();
      } else if (this.#onWire.size > 0 || this.#claiming) await this.#change();
      else return;
    }
  }

  #hasBatch(): boolean {
    const canStart = this.#ready.length > 0 && this.#freePlaces() > 0 && !this.#stopping;
    return this.#finished.length > 0 || canStart;
  }

  #freePlaces(): number {
    const atOnce = this.#pause.isFailing ? 1 : this.parts.transport.capacity;
    return Math.max(0, atOnce - this.#onWire.size);
  }

  /** Until half of the places are free: while one half is written down, the other is on the wire. */
  async #gather(): Promise<void> {
    const { capacity } = this.parts.transport;
    const until = performance.now() + GATHER_MS;
    while (!this.#stopping && this.#onWire.size > capacity / 2 && performance.now() < until) {
      const timer = setTimeout(() => this.#signal?.(), GATHER_MS);
      await this.#change();
      clearTimeout(timer);
    }
  }

  async #refill(): Promise<void> {
    await this.#recall();
    const low = this.parts.transport.capacity * AHEAD;
    if (this.#claiming || this.#exhausted || this.#ready.length >= low) return;
    this.#claiming = true;
    void this.#claim(low * 2 - this.#ready.length).finally(() => {
      this.#claiming = false;
      this.#signal?.();
    });
  }

  async #claim(limit: number): Promise<void> {
    try {
      const begun = performance.now();
      const works = await this.parts.source.claim(limit, newId());
      // A claim is waited for, and with it all that was written before.
      const epoch = works[0]?.delivery.leaseEpoch ?? null;
      if (epoch !== null) this.#unflushed.flushed(epoch, begun);
      if (works.length === 0) this.#exhausted = true;
      const prepared = await this.parts.source.prepare(works);
      const decided = prepared.filter((work) => 'outcome' in work);
      this.#ready.push(...prepared.filter((work) => 'mail' in work));
      this.#finished.push(...decided);
      await this.parts.pacing.warmUp.giveBack(decided);
    } catch (error) {
      // What was claimed in vain comes back when its lease ends.
      this.#exhausted = true;
      this.#complain('claiming deliveries failed', error);
    }
  }

  async #writeBatch(): Promise<void> {
    const finished = this.#finished;
    const mails = this.#stopping ? [] : this.#ready.splice(0, this.#freePlaces());
    this.#finished = [];
    try {
      for (const group of outcomeBatchesOf([...finished, ...mails])) await this.#write(group);
    } catch (error) {
      // Nothing is on a wire that was not before; what ended is written with the next outcome batch.
      this.#finished.push(...finished);
      this.#ready.unshift(...mails.filter(({ delivery }) => !this.#onWire.has(delivery.id)));
      throw error;
    }
  }

  async #write(group: readonly (FinishedWork | ReadyWork)[]): Promise<void> {
    const [first] = group;
    if (first === undefined) return;
    const ended = group.filter((work) => 'outcome' in work);
    const outcomes = ended.map(({ outcome }) => outcome);
    const mails = group.filter((work) => 'mail' in work);
    const starting = mails.map(({ delivery }) => delivery);
    const flushed = first.delivery.leaseEpoch === null;
    const entry = { outcomes, starting, usagePeriod: first.usagePeriod, flushed };
    const { marked, epoch } = await this.parts.journal.write(first.scope, entry, this.parts.clock.now());
    this.#writeAgain(this.#unflushed.written(epoch, flushed ? [] : ended, performance.now()));
    for (const { delivery, state } of outcomes) this.parts.metrics.count(delivery.kind, state);
    for (const work of mails) if (marked.has(work.delivery.id)) void this.#send(work);
    const refused = mails.filter(({ delivery }) => !marked.has(delivery.id));
    await this.#release(first.scope, refused);
    await this.parts.pacing.warmUp.giveBack(ended.filter(({ outcome }) => outcome.uncounted));
  }

  /** What a crash of the server has undone. */
  #writeAgain(lost: readonly FinishedWork[]): void {
    if (lost.length === 0) return;
    this.parts.logger.warn(
      { outcomes: lost.length },
      'the database recovered from a crash; writing once more',
    );
    this.#finished.push(...lost);
    this.#signal?.();
  }

  async #send(work: ReadyWork): Promise<void> {
    this.#onWire.set(work.delivery.id, work);
    const result = await this.parts.transport.deliver(work.mail, mayBeInDoubt(work));
    this.#onWire.delete(work.delivery.id);
    const { mail: _mail, ...rest } = work;
    this.#finished.push({ ...rest, outcome: this.#judge(work, result) });
    this.#signal?.();
    await this.parts.pacing.pace.answered(work, result, this.parts.clock.now()).catch((error: unknown) => {
      this.#complain('slowing a destination down failed', error);
    });
  }

  #judge({ delivery, ambiguousPolicy }: DeliveryWork, result: SendOutcome): DeliveryOutcome {
    const wasFailing = this.#pause.isFailing;
    if (this.#pause.after(result, this.#nowMs())) {
      this.parts.metrics.routePaused(this.#pause.until);
      this.parts.logger.warn({ seconds: this.#pause.seconds }, 'the next hop cannot be reached; mail waits');
    } else if (wasFailing && !this.#pause.isFailing) this.parts.metrics.routeAnswered();
    return outcomeOf(delivery, result, ambiguousPolicy, this.parts.clock.now(), this.parts.random);
  }

  async #giveBack(): Promise<void> {
    const ready = this.#ready;
    this.#ready = [];
    await this.#releaseAll(ready);
  }

  /** A destination was slowed down: what is at hand for it has to ask again. */
  async #recall(): Promise<void> {
    const { pace } = this.parts.pacing;
    if (this.#seenSlowDowns === pace.slowDowns) return;
    this.#seenSlowDowns = pace.slowDowns;
    const now = this.parts.clock.now();
    const recalled = new Set(this.#ready.filter((work) => pace.isRecalled(work, now)));
    this.#ready = this.#ready.filter((work) => !recalled.has(work));
    await this.#releaseAll([...recalled]);
  }

  async #releaseAll(works: readonly ReadyWork[]): Promise<void> {
    for (const group of groupByScope(works)) {
      const [first] = group;
      if (first !== undefined) await this.#release(first.scope, group);
    }
  }

  async #release(scope: ProjectScope, works: readonly ReadyWork[]): Promise<void> {
    if (works.length === 0) return;
    await this.parts.journal.release(
      scope,
      works.map(({ delivery }) => delivery),
    );
    await this.parts.pacing.warmUp.giveBack(works);
  }

  async #renew(): Promise<void> {
    await this.#lookForCrash().catch((error: unknown) =>
      this.#complain('the database does not answer', error),
    );
    const held: DeliveryWork[] = [...this.#ready, ...this.#finished, ...this.#onWire.values()];
    try {
      for (const group of groupByScope(held)) {
        const [first] = group;
        const deliveries = group.map(({ delivery }) => delivery);
        if (first !== undefined) await this.parts.journal.renew(first.scope, deliveries);
      }
    } catch (error) {
      this.#complain('renewing leases failed', error);
    }
  }

  /** The last outcomes of a campaign have no outcome batch after them that would show it. */
  async #lookForCrash(): Promise<void> {
    const [work] = this.#unflushed.newest();
    if (work === undefined) return;
    const epoch = await this.parts.journal.epoch(work.scope);
    this.#writeAgain(this.#unflushed.written(epoch, [], performance.now()));
    this.#unflushed.flushed(epoch, performance.now() - FLUSHED_AFTER_MS);
  }

  #nowMs(): number {
    return this.parts.clock.now().getTime();
  }

  #change(): Promise<void> {
    return new Promise((resolve) => {
      this.#signal = () => {
        this.#signal = undefined;
        resolve();
      };
    });
  }

  #complain(what: string, error: unknown): void {
    this.parts.logger.error({ error: describeError(error) }, what);
  }
}

/** Whether a mail may leave at once: one more attempt is made at it, should nobody know whether it arrived. */
function mayBeInDoubt({ ambiguousPolicy, delivery }: DeliveryWork): boolean {
  return ambiguousPolicy === 'RESEND' && !delivery.interrupted && !delivery.possibleDuplicate;
}
