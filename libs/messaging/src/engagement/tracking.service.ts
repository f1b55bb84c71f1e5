import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  describeError,
  environmentIdOf,
  linkSetOf,
  logFailure,
  LOGGER,
  placeOf,
  trackingClaimsOf,
  type TrackedMail,
  TrackingTokens,
} from '#platform';
import { classificationOf, kindOfAgent } from './classification.js';
import { EventBatch, type EventFacts } from './event-batch.query.js';
import { isNumbered, type LinkSet, LinkSetsService } from './link-sets.service.js';
import { TrackedEventsService } from './tracked-events.service.js';
import { type RequestBlock, WaitingRequestsService } from './waiting-requests.service.js';

/** A request for a pixel or a tracked link. */
export interface TrackedRequest {
  readonly method: string;
  readonly userAgent: string | undefined;
  /** True when it says that it was made before anybody asked to see the page. */
  readonly isPrefetch?: boolean;
}

/** A batch is written after so many requests, or so long after the first: a `kill -9` can lose as much. */
const BATCH = 500;
const LONGEST_WAIT_MS = 200;
const LARGEST_BATCH = 5_000;
const RETRY_AFTER_MS = 1_000;
/** The most that wait while the database does not answer, or not fast enough; later ones are lost. 8 MB. */
const MOST_WAITING = 200_000;
/** A storm: when so many came while a batch was written, writing pauses; from the other number on no longer. */
const STORM = { from: LARGEST_BATCH, to: MOST_WAITING / 2 };
const TRIES = 5;

/**
 * The way of an open or a click, in running order: its token is verified, the link's target answered at once, the request kept in
 * memory, and later written with others. One batch is written at a time; requests that come meanwhile make the next one.
 */
@Injectable()
export class TrackingService implements OnApplicationShutdown {
  readonly #waiting = new WaitingRequestsService(LARGEST_BATCH);
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isPausing = false;
  #failures = 0;
  #refused = 0;

  constructor(
    private readonly tokens: TrackingTokens,
    private readonly linkSets: LinkSetsService,
    private readonly events: TrackedEventsService,
    private readonly database: Database,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Records an open; false when the token is not one of a pixel of ours. */
  open(token: string, request: TrackedRequest): boolean {
    const claims = this.tokens.verifyBytes(token);
    if (claims === null || placeOf(claims) !== 0) return false;
    this.#record(claims, request);
    return true;
  }

  /** Records a click; resolves to the link's target, or null when the token is not one of a link of ours. */
  async follow(token: string, request: TrackedRequest): Promise<string | null> {
    const verified = this.tokens.verifyBytes(token);
    if (verified === null) return null;
    // While the database is asked, others are verified in its place.
    const claims = Buffer.from(verified);
    const set = await this.linkSets.find(trackingClaimsOf(claims));
    return set === null ? null : this.#followTo(set.urls, claims, request);
  }

  /** The same without asking the database; null also where this process does not have the link's target at hand. */
  followAtOnce(token: string, request: TrackedRequest): string | null {
    const claims = this.tokens.verifyBytes(token);
    if (claims === null) return null;
    const set = this.linkSets.atHand({ environmentId: environmentIdOf(claims), linkSet: linkSetOf(claims) });
    return set === undefined ? null : this.#followTo(set.urls, claims, request);
  }

  #followTo(urls: readonly string[], claims: Buffer, request: TrackedRequest): string | null {
    const place = placeOf(claims);
    const url = place === 0 ? undefined : urls[place - 1];
    if (url === undefined) return null;
    this.#record(claims, request);
    return url;
  }

  /** Keeps a request until a batch is written. `claims` are of a token whose MAC holds, and are copied. */
  #record(claims: Buffer, { method, userAgent, isPrefetch = false }: TrackedRequest): void {
    if (!this.config.TRACKING) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#refused += 1;
      return;
    }
    const isLookAhead = isPrefetch || method === 'HEAD';
    this.#waiting.add(claims, this.clock.now(), kindOfAgent(userAgent), isLookAhead);
    if (this.#writing !== undefined || this.#isPausing) return;
    if (this.#waiting.length >= BATCH) this.#writeNext();
    else this.#timer ??= setTimeout(() => this.#writeNext(), LONGEST_WAIT_MS);
  }

  #writeNext(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isPausing = false;
    const begin = performance.now();
    const block = this.#waiting.take();
    if (block === undefined) return;
    this.#writing = this.#writeOrKeep(block).finally(() => {
      this.#writing = undefined;
      if (this.#waiting.length === 0) return;
      this.#isPausing = this.#failures > 0 || isStorm(this.#waiting.length);
      this.#timer = setTimeout(() => this.#writeNext(), this.#pause(begin));
    });
  }

  async #writeOrKeep(block: RequestBlock): Promise<void> {
    try {
      await this.#write(block);
      this.#failures = 0;
      this.#waiting.free(block);
    } catch (error) {
      await this.#keep(block, error);
    }
    if (this.#refused === 0) return;
    this.logger.error({ events: this.#refused }, 'opens and clicks were lost: too many wait to be written');
    this.#refused = 0;
  }

  /** Writes requests as opens and clicks, without those whose link set no longer exists. */
  async #write(block: RequestBlock): Promise<void> {
    const sets = numbered(block, await this.#setsOf(block));
    for (let index = 0; index < block.length; index += 1) {
      const set = sets.get(block.linkSet(index));
      if (set !== undefined)
        set.batch.add(set.mailing, block.bytes, block.deliveryIdBegin(index), factsOf(block, index, set));
    }
    await this.events.writeBatches([...new Set([...sets.values()].map(({ batch }) => batch))]);
  }

  #setsOf(block: RequestBlock): Promise<Map<number, LinkSet>> {
    const mails = new Map<number, TrackedMail>();
    for (let index = 0; index < block.length; index += 1) {
      const number = block.linkSet(index);
      if (!mails.has(number)) mails.set(number, block.request(index).claims);
    }
    return this.linkSets.findAll([...mails.values()]);
  }

  /** Keeps a block for the next try; one that the database refuses again and again is dropped, and must not hold up the rest. */
  async #keep(block: RequestBlock, error: unknown): Promise<void> {
    this.#failures += 1;
    const isReachable = await this.database.ping().then(
      () => true,
      () => false,
    );
    const lost = isReachable && this.#failures >= TRIES;
    const message = 'opens and clicks could not be written';
    const fields = { events: block.length, lost };
    if (lost) {
      this.logger.error({ ...fields, error: describeError(error) }, message);
      this.#failures = 0;
    } else {
      logFailure(this.logger, error, message, fields);
      this.#waiting.putBack(block);
    }
  }

  /** As long as the batch took, in a storm: it leaves the database half of its time for the rest. */
  #pause(begin: number): number {
    if (this.#failures > 0) return RETRY_AFTER_MS;
    if (this.#isPausing) return performance.now() - begin;
    return this.#waiting.length >= BATCH ? 0 : LONGEST_WAIT_MS;
  }

  /** Resolves when all that was recorded until now is written, or cannot be. */
  async flush(): Promise<void> {
    await this.#writing;
    while (this.#waiting.length > 0 && this.#failures < TRIES) {
      this.#writeNext();
      await this.#writing;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
  }
}

const isStorm = (waiting: number): boolean => waiting >= STORM.from && waiting < STORM.to;

/** A link set as a batch needs it. */
interface NumberedSet {
  /** The batch of its environment. */
  readonly batch: EventBatch;
  readonly mailing: number;
  /** None where an event's link is known by its number. */
  readonly urls: readonly string[];
}

/** Gives each link set the batch of its environment, messages' apart, which has room for its requests. */
function numbered(block: RequestBlock, found: ReadonlyMap<number, LinkSet>): Map<number, NumberedSet> {
  const nameOf = (set: LinkSet) => `${set.environmentId}/${'messageId' in set}`;
  const rooms = new Map<string, { readonly set: LinkSet; room: number }>();
  for (let index = 0; index < block.length; index += 1) {
    const set = found.get(block.linkSet(index));
    if (set === undefined) continue;
    const room = rooms.get(nameOf(set)) ?? { set, room: 0 };
    room.room += 1;
    rooms.set(nameOf(set), room);
  }
  const batches = new Map(
    [...rooms].map(([name, { set, room }]) => [
      name,
      new EventBatch(set.environmentId, room, 'messageId' in set),
    ]),
  );
  return new Map(
    [...found].map(([number, set]) => {
      const batch = batches.get(nameOf(set))!;
      const mailing = batch.mailing({ ...set, linkSet: number });
      return [number, { batch, mailing, urls: isNumbered(set) ? [] : set.urls }];
    }),
  );
}

function factsOf(block: RequestBlock, index: number, { urls }: NumberedSet): EventFacts {
  const place = block.place(index);
  const agent = block.agent(index);
  return {
    type: place === 0 ? 'OPENED' : 'CLICKED',
    linkNumber: place === 0 ? null : place,
    url: urls[place - 1] ?? null,
    at: block.at(index),
    known: block.isLookAhead(index) ? 'scanner' : classificationOf(agent),
    agent,
  };
}
