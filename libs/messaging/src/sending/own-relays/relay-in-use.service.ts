import type { OwnRelay } from '#deliverability';
import type { SendOutcome } from '#platform';
import type { NextMail, OutgoingMail } from '../../deliveries/delivery.js';
import type { DeliveryTransport } from '../transports/delivery.transport.js';

/** A place of a relay's rate that nobody used is lost after that: it is of one second. */
const PLACES_LAST_MS = 1_000;
/** A relay with a rate is claimed for so far ahead. */
const AHEAD_S = 2;
/** One without is claimed for so many mails a connection. */
const AHEAD_EACH = 10;

export interface RelayParts {
  readonly transport: DeliveryTransport;
  /** How many of `wanted` mails may go by it now, of all workers'. */
  takePlaces(wanted: number): Promise<number>;
  /** It could not be brought to take mail. */
  failed(detail: string): Promise<void>;
}

/** How many mails are on the wires to a relay, those included that left before it was changed. */
export interface Wires {
  mails: number;
}

/** A project's relay as this worker uses it, for all its streams. */
export class RelayInUse {
  isUsable: boolean;
  /** Whether it took mail since this was last set. */
  wasUsed = false;
  #places = 0;
  #placesUntil = 0;
  #asking = false;

  constructor(
    readonly relay: OwnRelay,
    private readonly parts: RelayParts,
    private readonly changed: () => void,
    readonly wires: Wires = { mails: 0 },
  ) {
    this.isUsable = relay.status === 'ACTIVE';
  }

  /** How many mails are to be at hand for it. */
  get depth(): number {
    const { connections, ratePerSecond } = this.relay;
    const most = connections * AHEAD_EACH;
    return ratePerSecond === null ? most : Math.min(most, Math.max(1, Math.ceil(ratePerSecond * AHEAD_S)));
  }

  /** How many more mails may start now. Where its rate leaves none, places are asked for, and `changed` tells of them. */
  freePlaces(): number {
    const { connections, ratePerSecond } = this.relay;
    const free = Math.max(0, connections - this.wires.mails);
    if (ratePerSecond === null || free === 0) return free;
    if (performance.now() >= this.#placesUntil) this.#places = 0;
    if (this.#places === 0) void this.#askForPlaces(ratePerSecond);
    return Math.min(free, this.#places);
  }

  /** A mail that was counted among them starts. */
  start(): void {
    this.#places = Math.max(0, this.#places - 1);
  }

  async deliver(mail: OutgoingMail, next: NextMail): Promise<SendOutcome> {
    this.wires.mails += 1;
    // Its next mail waits for a place, and the relay would wait with it.
    const following = this.relay.ratePerSecond === null ? next : () => undefined;
    const result = await this.parts.transport.deliver(mail, following).finally(() => (this.wires.mails -= 1));
    if (result.kind === 'route-unavailable') await this.#fail(result.detail);
    else this.wasUsed = true;
    return result;
  }

  close(): Promise<void> {
    return this.parts.transport.close();
  }

  async #fail(detail: string): Promise<void> {
    if (!this.isUsable) return;
    this.isUsable = false;
    this.changed();
    await this.parts.failed(detail);
  }

  async #askForPlaces(ratePerSecond: number): Promise<void> {
    if (this.#asking) return;
    this.#asking = true;
    try {
      this.#places = await this.parts.takePlaces(Math.max(1, Math.ceil(ratePerSecond)));
      this.#placesUntil = performance.now() + PLACES_LAST_MS;
    } finally {
      const wait = this.#places > 0 ? 0 : Math.min(1_000, 1_000 / ratePerSecond);
      setTimeout(() => {
        this.#asking = false;
        this.changed();
      }, wait).unref();
    }
  }
}
