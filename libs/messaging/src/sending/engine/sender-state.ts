import type { ProjectScope } from '#kernel';
import type { DeliveryOutcome } from '../delivery-outcome.js';
import type { DecidedWork, DeliveryWork, PreparedDelivery, ReadyWork } from '../delivery-work.js';
import type { DeliveryRoute } from '../delivery.route.js';

/** Nothing that is written stays unflushed longer. */
const FLUSHED_AFTER_MS = 3_000;

/** The next outcome batch: attempts that ended, and mails to be marked SENDING. */
export interface SenderBatch {
  readonly ended: readonly DecidedWork[];
  readonly mails: readonly ReadyWork[];
}

/**
 * The deliveries in the hands of one sender. No I/O: what to claim, what to start and what to write is decided here.
 *
 * | State     | Meaning                                             | Next                                                      |
 * | --------- | --------------------------------------------------- | --------------------------------------------------------- |
 * | ready     | its mail is made                                    | marking; given back when recalled, paused or stopped      |
 * | offered   | ready, its envelope left with the mail on the wire  | ready, first in line, when that mail has ended            |
 * | marking   | being marked SENDING, with the batch                | on wire; given back if unwanted; ready if the batch fails |
 * | on wire   | being handed over                                   | ended                                                     |
 * | ended     | has an outcome that is not written                  | writing                                                   |
 * | writing   | being written, with the batch                       | unflushed, or done; ended if the batch fails              |
 * | unflushed | written; a crash of the server may undo it          | done when flushed; ended after a crash                    |
 */
export class SenderState {
  #ready: ReadyWork[] = [];
  #ended: DecidedWork[] = [];
  readonly #onWire = new Map<string, ReadyWork>();
  /** Mails whose envelope left with the mail before, and whether that one is on the wire still. */
  readonly #offered = new WeakMap<ReadyWork, boolean>();
  readonly #unflushed = new UnflushedOutcomes<DecidedWork>();
  #isClaiming = false;
  #isExhausted = false;
  /** Something may have become due, or a campaign over, since the running claim began. */
  #isClaimOutdated = false;
  #isStopping = false;
  /** Changes of routes and pace that ready mails were compared with. */
  #seenChanges = 0;

  constructor(private readonly route: DeliveryRoute) {}

  get isStopping(): boolean {
    return this.#isStopping;
  }

  /** From now on nothing is claimed or started. */
  stop(): void {
    this.#isStopping = true;
  }

  get onWire(): number {
    return this.#onWire.size;
  }

  /** Something ends without being asked for again. */
  get isBusy(): boolean {
    return this.#onWire.size > 0 || this.#isClaiming;
  }

  get hasBatch(): boolean {
    return this.#ended.length > 0 || this.#startable().length > 0;
  }

  /** Deliveries that this sender is to keep the leases of. */
  get held(): DeliveryWork[] {
    return [...this.#ready, ...this.#ended, ...this.#onWire.values()];
  }

  /** Octets of the mails that are made and not sent. */
  get octets(): number {
    return [...this.#ready, ...this.#onWire.values()].reduce((sum, { mail }) => sum + mail.raw.size, 0);
  }

  /** There may be something to claim. */
  lookAgain(): void {
    this.#isExhausted = false;
    this.#isClaimOutdated = true;
  }

  /** The number of deliveries to claim now; then the claim has begun. 0: none. */
  beginClaim(): number {
    if (this.#isStopping || this.#isClaiming || this.#isExhausted) return 0;
    const wanted = this.route.toClaim(this.#ready, [...this.#onWire.values()]);
    this.#isClaiming = wanted > 0;
    this.#isClaimOutdated = false;
    return wanted;
  }

  /** A claim that found nothing is the last, unless it began before the latest change. */
  endClaim(result: 'found' | 'nothing' | 'failed'): void {
    this.#isClaiming = false;
    if (result === 'failed' || (result === 'nothing' && !this.#isClaimOutdated)) this.#isExhausted = true;
  }

  /** Gives claimed deliveries their ways, beside those at hand. */
  assign(works: readonly DeliveryWork[]): ReturnType<DeliveryRoute['assign']> {
    return this.route.assign(works, this.#atHand());
  }

  /** `changes`: of routes and pace, as they were when the claim began. */
  add(prepared: readonly PreparedDelivery[], changes: number): void {
    for (const work of prepared) {
      if ('mail' in work) this.#ready.push(work);
      else this.#ended.push(work);
    }
    this.#seenChanges = Math.min(this.#seenChanges, changes);
  }

  /** Removes ready mails that are recalled, if there were changes of routes or pace since. */
  takeRecalled(changes: number, isRecalled: (work: ReadyWork) => boolean): ReadyWork[] {
    if (this.#seenChanges === changes) return [];
    this.#seenChanges = changes;
    const recalled = new Set(this.#ready.filter(isRecalled));
    this.#ready = this.#ready.filter((work) => !recalled.has(work));
    return [...recalled];
  }

  /** Removes all ready mails. */
  takeReady(): ReadyWork[] {
    return this.#ready.splice(0);
  }

  takeBatch(): SenderBatch {
    const ended = this.#ended;
    const mails = this.#startable();
    const starting = new Set(mails);
    this.#ended = [];
    this.#ready = this.#ready.filter((work) => !starting.has(work));
    this.route.starting(mails);
    return { ended, mails };
  }

  /** A campaign may be over with its last mail, which the next claim finds. */
  batchWritten(): void {
    if (this.#ready.length + this.#onWire.size === 0) this.lookAgain();
  }

  /** Nothing is on a wire that was not before; what ended is written with the next batch. */
  batchFailed({ ended, mails }: SenderBatch): void {
    this.#ended.push(...ended);
    this.#ready.unshift(...mails.filter(({ delivery }) => !this.#onWire.has(delivery.id)));
  }

  start(work: ReadyWork): void {
    this.#onWire.set(work.delivery.id, work);
  }

  /** `next`: the mail that was offered the connection. */
  end({ mail: _mail, ...work }: ReadyWork, outcome: DeliveryOutcome, next: ReadyWork | undefined): void {
    if (next !== undefined) this.#offered.set(next, false);
    this.#onWire.delete(work.delivery.id);
    this.#ended.push({ ...work, outcome });
  }

  /**
   * Chooses the mail that follows over a mail's connection. Only its envelope leaves: it is marked, as any other, when that mail
   * has ended, and then it starts first.
   */
  offer({ relay }: ReadyWork): ReadyWork | undefined {
    const at = this.#ready.findIndex((each) => each.relay === relay && !this.#offered.has(each));
    const [next] = at === -1 ? [] : this.#ready.splice(at, 1);
    if (next === undefined) return undefined;
    this.#offered.set(next, true);
    this.#ready.unshift(next);
    return next;
  }

  /** Environments in which something is written and not known to be flushed. */
  get unflushedScopes(): ProjectScope[] {
    return this.#unflushed.scopes;
  }

  /** Takes note of outcomes that were written and not waited for. Returns how many are to be written again after a crash. */
  written(scope: ProjectScope, epoch: number, unflushed: readonly DecidedWork[], at: number): number {
    const lost = this.#unflushed.written(scope, epoch, unflushed, at);
    this.#ended.push(...lost);
    return lost.length;
  }

  /** A claim waits until it is flushed, and with it all that was written before. */
  claimed(work: DeliveryWork, begunAt: number): void {
    const { leaseEpoch } = work.delivery;
    if (leaseEpoch !== null) this.#unflushed.flushed(work.scope, leaseEpoch, begunAt);
  }

  flushedLongAgo(scope: ProjectScope, epoch: number, now: number): void {
    this.#unflushed.flushed(scope, epoch, now - FLUSHED_AFTER_MS);
  }

  #startable(): readonly ReadyWork[] {
    if (this.#isStopping) return [];
    const free = this.#ready.filter((work) => this.#offered.get(work) !== true);
    return this.route.startable(free, this.#onWire.size);
  }

  #atHand(): DeliveryWork[] {
    return [...this.#ready, ...this.#onWire.values()];
  }
}

interface UnflushedEpoch<Work> {
  readonly scope: ProjectScope;
  readonly epoch: number;
  readonly works: readonly { readonly work: Work; readonly at: number }[];
}

/**
 * Outcomes that were written and not waited for. Their sender remembers them until they are sure to outlast a crash of the
 * environment's server, and writes them again when there was one.
 */
export class UnflushedOutcomes<Work> {
  readonly #environments = new Map<number, UnflushedEpoch<Work>>();

  get scopes(): ProjectScope[] {
    return [...this.#environments.values()].map(({ scope }) => scope);
  }

  /** Takes note of works that were written in this epoch. Returns those that a crash may have undone. */
  written(scope: ProjectScope, epoch: number, works: readonly Work[], at: number): Work[] {
    const before = this.#environments.get(scope.environmentId);
    const isLost = before !== undefined && before.epoch !== epoch;
    const kept = isLost ? [] : (before?.works ?? []);
    this.#keep({ scope, epoch, works: [...kept, ...works.map((work) => ({ work, at }))] });
    return isLost ? before.works.map(({ work }) => work) : [];
  }

  /** Everything that was written before this moment is safe, if it was written in this epoch. */
  flushed(scope: ProjectScope, epoch: number, before: number): void {
    const known = this.#environments.get(scope.environmentId);
    if (known?.epoch === epoch) this.#keep({ ...known, works: known.works.filter(({ at }) => at >= before) });
  }

  #keep(of: UnflushedEpoch<Work>): void {
    if (of.works.length > 0) this.#environments.set(of.scope.environmentId, of);
    else this.#environments.delete(of.scope.environmentId);
  }
}

/** The content of one statement: of one environment, one period and one partition, all of it waited for or nothing. */
export type WorkGroup<Work extends DeliveryWork> = readonly [Work, ...Work[]];

/**
 * The statements of a batch in their order. Of several all outcomes are written before any mark: a mail must not
 * go on the wire in the place of one whose outcome is still to be written.
 */
export function statementsOf({ ended, mails }: SenderBatch): WorkGroup<PreparedDelivery>[] {
  const groups = groupByScope([...ended, ...mails]);
  return groups.length === 1 ? groups : [...groupByScope(ended), ...groupByScope(mails)];
}

export function groupByScope<Work extends DeliveryWork>(works: readonly Work[]): WorkGroup<Work>[] {
  const groups = Map.groupBy(
    works,
    ({ scope, usagePeriod, delivery, ambiguousPolicy }) =>
      `${scope.environmentId}/${usagePeriod?.getTime() ?? ''}/${delivery.queuedOn}/${ambiguousPolicy}/${delivery.leaseEpoch === null}`,
  );
  // No group is empty.
  return [...groups.values()] as unknown as WorkGroup<Work>[];
}
