import { kindRules } from '#deliverability';
import type { Clock } from '#kernel';
import { type DeliveryKind, type NextMail, streamOf } from '../../deliveries/delivery.js';
import { isInDoubt, outcomeOfDoubt, unassigned } from '../delivery-outcome.js';
import type { Assigned, DeliveredResult, DeliveryRoute } from '../delivery.route.js';
import type { DecidedWork, DeliveryWork, ReadyWork } from '../delivery-work.js';
import type { ProjectRelays, RelayInUse } from './relays-in-use.service.js';

/**
 * The way of a project's mail of one stream by its own relays: those of the best priority that can be used share it by their
 * weights. What may have arrived by one is handed to no other.
 */
export class OwnRelaysRoute implements DeliveryRoute {
  /** Turns in hand of each by its weight (smooth weighted round-robin, as nginx has it). */
  readonly #turns = new Map<string, number>();

  constructor(
    private readonly stream: DeliveryKind,
    private readonly project: Pick<ProjectRelays, 'relays' | 'changes'>,
    private readonly clock: Clock,
  ) {}

  get capacity(): number {
    return Math.max(
      1,
      sumOf(this.#first, ({ relay }) => relay.connections),
    );
  }

  get isPaused(): boolean {
    return this.#first.length === 0;
  }

  get changes(): number {
    return this.project.changes;
  }

  /** As soon as one of them has little left: one that is slow holds up no other. */
  toClaim(ready: readonly ReadyWork[], onWire: readonly DeliveryWork[]): number {
    const rooms = [...this.#roomsBeside([...ready, ...onWire])];
    const isAnyLow = rooms.some(([{ depth }, room]) => room >= depth / 2);
    return isAnyLow ? sumOf(rooms, ([, room]) => room) : 0;
  }

  assign(works: readonly DeliveryWork[], atHand: readonly DeliveryWork[]): Assigned {
    const rooms = this.#roomsBeside(atHand);
    const going: DeliveryWork[] = [];
    const decided: DecidedWork[] = [];
    for (const work of works) {
      const { delivery } = work;
      const chosen = isInDoubt(delivery) ? this.#usable(delivery.relayKey) : this.#next(rooms);
      if (chosen === undefined) decided.push({ ...work, outcome: this.#withoutRelay(work) });
      else {
        rooms.set(chosen, (rooms.get(chosen) ?? 0) - 1);
        const { relay } = chosen;
        going.push({ ...work, relay, delivery: { ...delivery, relayKey: relay.relayKey } });
      }
    }
    return { going, decided };
  }

  startable(ready: readonly ReadyWork[]): readonly ReadyWork[] {
    const free = new Map<RelayInUse, number>();
    return ready.filter((work) => {
      const relay = this.#relayOf(work);
      if (relay === undefined) return false;
      const left = free.get(relay) ?? relay.freePlaces();
      free.set(relay, left - 1);
      return left > 0;
    });
  }

  starting(works: readonly ReadyWork[]): void {
    for (const work of works) this.#relayOf(work)?.start();
  }

  isRecalled(work: DeliveryWork): boolean {
    return this.#relayOf(work) === undefined;
  }

  async deliver(work: ReadyWork, next: NextMail): Promise<DeliveredResult> {
    const relay = this.#relayOf(work);
    // It failed since the mail was marked: the mail is due as before, and takes another.
    if (relay === undefined) {
      const result = { kind: 'route-unavailable', stage: 'connect', detail: 'The relay failed.' } as const;
      return { result, changes: { nextAttemptAt: this.clock.now() } };
    }
    const result = await relay.deliver(work.mail, next);
    if (result.kind === 'route-unavailable') return { result, changes: { nextAttemptAt: this.clock.now() } };
    if (result.kind !== 'accepted') return { result };
    return {
      result,
      changes: { providerMessageId: kindRules(relay.relay.kind).messageIdOf(result.reply.text) },
    };
  }

  /** The relays of the best priority that can be used. */
  get #first(): readonly RelayInUse[] {
    const usable = this.project.relays.filter((each) => each.isUsable && this.#takes(each));
    return usable.filter(({ relay }) => relay.priority === usable[0]?.relay.priority);
  }

  #takes({ relay }: RelayInUse): boolean {
    return relay.streams.includes(streamOf(this.stream));
  }

  #usable(relayKey: string | null): RelayInUse | undefined {
    return this.project.relays.find((each) => each.relay.relayKey === relayKey && each.isUsable);
  }

  /** The relay that the mail was made for; none once that failed, was paused, or was changed. */
  #relayOf({ relay: made }: DeliveryWork): RelayInUse | undefined {
    return this.project.relays.find(({ relay, isUsable }) => relay === made && isUsable);
  }

  #roomsBeside(atHand: readonly DeliveryWork[]): Map<RelayInUse, number> {
    const count = (each: RelayInUse) =>
      atHand.filter(({ relay }) => relay?.relayKey === each.relay.relayKey).length;
    return new Map(this.#first.map((each) => [each, Math.max(0, each.depth - count(each))]));
  }

  /** The relay whose turn it is, among those that have room. */
  #next(rooms: ReadonlyMap<RelayInUse, number>): RelayInUse | undefined {
    const free = [...rooms].filter(([, room]) => room > 0).map(([relay]) => relay);
    const relays = free.length > 0 ? free : [...rooms.keys()];
    for (const { relay } of relays) this.#turn(relay.relayKey, relay.weight);
    const turnOf = ({ relay }: RelayInUse) => this.#turns.get(relay.relayKey) ?? 0;
    const [next] = relays.toSorted((a, b) => turnOf(b) - turnOf(a));
    if (next !== undefined) this.#turn(next.relay.relayKey, -sumOf(relays, ({ relay }) => relay.weight));
    return next;
  }

  #turn(relayKey: string, change: number): void {
    this.#turns.set(relayKey, (this.#turns.get(relayKey) ?? 0) + change);
  }

  #withoutRelay(work: DeliveryWork) {
    const { delivery } = work;
    const isKnown = this.project.relays.some(({ relay }) => relay.relayKey === delivery.relayKey);
    const now = this.clock.now();
    return isInDoubt(delivery) ? outcomeOfDoubt(work, isKnown, now) : unassigned(delivery, now);
  }
}

function sumOf<Item>(items: readonly Item[], of: (item: Item) => number): number {
  return items.reduce((sum, item) => sum + of(item), 0);
}
