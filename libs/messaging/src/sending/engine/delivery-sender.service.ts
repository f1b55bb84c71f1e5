import type { Logger } from 'pino';
import { type Clock, newId } from '#kernel';
import { logFailure, Loop, type MailMetrics } from '#platform';
import type { DeliveryJournal } from './delivery-journal.service.js';
import { type DeliveryOutcome, outcomeOf } from '../delivery-outcome.js';
import type { DeliverySource, DeliveryWork } from '../delivery-source.js';
import type { DeliveryPacing } from '../pacing/delivery-pacing.service.js';
import type { DeliveryRoute, ReadyWork } from '../delivery.route.js';
import type { NextMail } from '../../deliveries/delivery.js';
import { RENEW_EVERY_MS } from './lease.js';
import { groupByScope, outcomeBatchesOf, type WorkGroup } from './outcome-groups.js';
import { UnflushedOutcomes } from './unflushed-outcomes.js';

const POLL_MS = 1_000;
/**
 * An outcome batch costs the database almost as much for one mail as for ten, so near ends are waited for so long: 2 982
 * mails/s instead of 2 730 (bench/history/campaign.md).
 */
const GATHER_MS = 3;
/** Nothing that is written stays unflushed longer. */
const FLUSHED_AFTER_MS = 3_000;

export interface SenderParts {
  readonly source: DeliverySource;
  readonly route: DeliveryRoute;
  readonly journal: DeliveryJournal;
  readonly pacing: DeliveryPacing;
  readonly metrics: MailMetrics;
  readonly clock: Clock;
  readonly logger: Logger;
  readonly random: () => number;
}

interface FinishedWork extends DeliveryWork {
  readonly outcome: DeliveryOutcome;
}

/**
 * Sends one kind of deliveries by one route. Each outcome batch records the attempts
 * that ended and marks the next ones SENDING; a message goes on the wire only after its mark is committed, and
 * its place is free only after its outcome is. So a killed sender leaves at most `capacity` mails in doubt.
 */
export class DeliverySender {
  readonly #loop: Loop;
  readonly #onWire = new Map<string, DeliveryWork>();
  #ready: ReadyWork[] = [];
  /** Those of `#ready` whose envelope left with the mail before, and whether that one is on the wire still. */
  readonly #offered = new WeakMap<ReadyWork, boolean>();
  #finished: FinishedWork[] = [];
  readonly #unflushed = new UnflushedOutcomes<FinishedWork>();
  #claiming = false;
  #seenChanges = 0;
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
    for (const scope of this.#unflushed.scopes) await this.parts.journal.flush(scope);
  }

  async #pass(): Promise<void> {
    this.#exhausted = false;
    for (;;) {
      if (this.#stopping || this.parts.route.isPaused) await this.#release(this.#ready.splice(0));
      else await this.#refill();
      if (this.#hasBatch()) {
        await this.#gather();
        await this.#writeBatch();
        // The last has ended, and with it a campaign perhaps.
        if (this.#atHand().length === 0) this.#exhausted = false;
      } else if (this.#onWire.size > 0 || this.#claiming) await this.#change();
      else return;
    }
  }

  #hasBatch(): boolean {
    return this.#finished.length > 0 || this.#startable().length > 0;
  }

  #startable(): readonly ReadyWork[] {
    if (this.#stopping) return [];
    const free = this.#ready.filter((work) => this.#offered.get(work) !== true);
    return this.parts.route.startable(free, this.#onWire.size);
  }

  /** Until half of the places are free: while the outcomes of one half are written, the other is on the wire. */
  async #gather(): Promise<void> {
    const { capacity } = this.parts.route;
    const until = performance.now() + GATHER_MS;
    while (!this.#stopping && this.#onWire.size > capacity / 2 && performance.now() < until) {
      const timer = setTimeout(() => this.#signal?.(), GATHER_MS);
      await this.#change();
      clearTimeout(timer);
    }
  }

  async #refill(): Promise<void> {
    await this.#recall();
    if (this.#claiming || this.#exhausted) return;
    const wanted = this.parts.route.toClaim(this.#ready, [...this.#onWire.values()]);
    if (wanted === 0) return;
    this.#claiming = true;
    void this.#claim(wanted).finally(() => {
      this.#claiming = false;
      this.#signal?.();
    });
  }

  #atHand(): DeliveryWork[] {
    return [...this.#ready, ...this.#onWire.values()];
  }

  async #claim(limit: number): Promise<void> {
    try {
      const begun = performance.now();
      const works = await this.parts.source.claim(limit, newId());
      // A claim is waited for, and with it all that was written before.
      const [first] = works;
      if (first === undefined) this.#exhausted = true;
      else if (first.delivery.leaseEpoch !== null)
        this.#unflushed.flushed(first.scope, first.delivery.leaseEpoch, begun);
      const assigned = this.parts.route.assign(works, this.#atHand());
      const prepared = await this.parts.source.prepare(assigned.going);
      const decided = [...assigned.decided, ...prepared.filter((work) => 'outcome' in work)];
      this.#ready.push(...prepared.filter((work) => 'mail' in work));
      this.#finished.push(...decided);
      await this.parts.pacing.giveBack(decided);
    } catch (error) {
      // What was claimed in vain comes back when its lease ends.
      this.#exhausted = true;
      this.#complain('claiming deliveries failed', error);
    }
  }

  async #writeBatch(): Promise<void> {
    const finished = this.#finished;
    const mails = this.#startable();
    const starting = new Set(mails);
    this.#ready = this.#ready.filter((work) => !starting.has(work));
    this.parts.route.starting(mails);
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

  async #write(group: WorkGroup<FinishedWork | ReadyWork>): Promise<void> {
    const { journal, metrics, pacing, clock } = this.parts;
    const [{ scope, usagePeriod, delivery: first }] = group;
    const ended = group.filter((work) => 'outcome' in work);
    const outcomes = ended.map(({ outcome }) => outcome);
    const mails = group.filter((work) => 'mail' in work);
    const starting = mails.map(({ delivery }) => delivery);
    const flushed = first.leaseEpoch === null;
    const batch = { outcomes, starting, usagePeriod, flushed };
    const { marked, epoch } = await journal.write(scope, batch, clock.now());
    this.#writeAgain(this.#unflushed.written(scope, epoch, flushed ? [] : ended, performance.now()));
    for (const { delivery, state } of outcomes) metrics.count(delivery.kind, state);
    for (const work of mails) if (marked.has(work.delivery.id)) void this.#send(work);
    await this.#release(mails.filter(({ delivery }) => !marked.has(delivery.id)));
    await pacing.giveBack(ended.filter(({ outcome }) => outcome.uncounted));
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
    const { mail: _mail, ...rest } = work;
    this.#onWire.set(work.delivery.id, work);
    let next: ReadyWork | undefined;
    const outcome = await this.#deliver(work, () => (next ??= this.#offer(work))?.mail);
    if (next !== undefined) this.#offered.set(next, false);
    this.#onWire.delete(work.delivery.id);
    this.#finished.push({ ...rest, outcome });
    this.#signal?.();
  }

  /**
   * Chooses what follows a mail over its connection. Only the envelope leaves: it is marked, as any other, when that mail has
   * ended, and then it starts first.
   */
  #offer(work: ReadyWork): ReadyWork | undefined {
    const at = this.#ready.findIndex((each) => each.relay === work.relay && !this.#offered.has(each));
    const [next] = at === -1 ? [] : this.#ready.splice(at, 1);
    if (next === undefined) return undefined;
    this.#offered.set(next, true);
    this.#ready.unshift(next);
    return next;
  }

  /** Hands a mail over and resolves to how that leaves its delivery. */
  async #deliver(work: ReadyWork, next: NextMail): Promise<DeliveryOutcome> {
    const { route, pacing, clock, random } = this.parts;
    const { result, changes } = await route.deliver(work, next);
    void pacing
      .answered(work, result)
      .catch((error: unknown) => this.#complain('slowing a destination down failed', error));
    const outcome = outcomeOf(work.delivery, result, work.ambiguousPolicy, clock.now(), random);
    return changes === undefined ? outcome : { ...outcome, ...changes };
  }

  /** A destination was slowed down, or a relay failed: what is at hand for it has to ask again. */
  async #recall(): Promise<void> {
    const { pacing, route } = this.parts;
    const changes = pacing.slowDowns + route.changes;
    if (this.#seenChanges === changes) return;
    this.#seenChanges = changes;
    const recalled = new Set(this.#ready.filter((work) => pacing.isRecalled(work) || route.isRecalled(work)));
    this.#ready = this.#ready.filter((work) => !recalled.has(work));
    await this.#release([...recalled]);
  }

  async #release(works: readonly ReadyWork[]): Promise<void> {
    for (const group of groupByScope(works))
      await this.parts.journal.release(group[0].scope, deliveriesOf(group));
    await this.parts.pacing.giveBack(works);
  }

  async #renew(): Promise<void> {
    await this.#lookForCrash().catch((error: unknown) =>
      this.#complain('the database does not answer', error),
    );
    const held: DeliveryWork[] = [...this.#ready, ...this.#finished, ...this.#onWire.values()];
    try {
      for (const group of groupByScope(held))
        await this.parts.journal.renew(group[0].scope, deliveriesOf(group));
    } catch (error) {
      this.#complain('renewing leases failed', error);
    }
  }

  /** The last outcomes of a campaign have no outcome batch after them that would show it. */
  async #lookForCrash(): Promise<void> {
    for (const scope of this.#unflushed.scopes) {
      const epoch = await this.parts.journal.epoch(scope);
      this.#writeAgain(this.#unflushed.written(scope, epoch, [], performance.now()));
      this.#unflushed.flushed(scope, epoch, performance.now() - FLUSHED_AFTER_MS);
    }
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
    logFailure(this.parts.logger, error, what);
  }
}

const deliveriesOf = (works: readonly DeliveryWork[]) => works.map(({ delivery }) => delivery);
