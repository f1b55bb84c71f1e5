import { Inject, Injectable, type OnApplicationShutdown } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import { type Config, CONFIG, Database, describeError, logFailure, LOGGER } from '#platform';
import { TrackedRequests } from './tracked-requests.service.js';
import { kindOfAgent } from './user-agent.js';
import { type RequestBlock, WaitingRequests } from './waiting-requests.service.js';

/** A request for a pixel or a tracked link. */
export interface TrackedRequest {
  readonly method: string;
  readonly userAgent: string | undefined;
  /** It says that it was fetched before anybody asked to see it. */
  readonly isPrefetch?: boolean;
}

/** So many, or so long after the first: what a `kill -9` can lose. */
const BATCH = 500;
const LONGEST_WAIT_MS = 200;
const LARGEST_BATCH = 5_000;
const RETRY_AFTER_MS = 1_000;
/** While the database does not answer, or not fast enough; what comes then is lost. 8 MB. */
const MOST_WAITING = 200_000;
/** A storm: when so many came while a batch was written, writing pauses; from the other number on not any more. */
const STORM = { from: LARGEST_BATCH, to: MOST_WAITING / 2 };
const TRIES = 5;

/**
 * Takes opens and clicks down without making anybody wait, and writes them in batches. One batch is written at a
 * time; those that come meanwhile make the next one.
 */
@Injectable()
export class TrackingRecorder implements OnApplicationShutdown {
  readonly #waiting = new WaitingRequests(LARGEST_BATCH);
  #timer: NodeJS.Timeout | undefined;
  #writing: Promise<void> | undefined;
  #isPausing = false;
  #failures = 0;
  #refused = 0;

  constructor(
    private readonly requests: TrackedRequests,
    private readonly database: Database,
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Takes down a request with the claims of a token whose MAC holds, which are copied. Returns at once. */
  record(claims: Buffer, { method, userAgent, isPrefetch = false }: TrackedRequest): void {
    if (!this.config.TRACKING) return;
    if (this.#waiting.length >= MOST_WAITING) {
      this.#refused += 1;
      return;
    }
    const isLookAhead = isPrefetch || method === 'HEAD';
    this.#waiting.add(claims, this.clock.now(), kindOfAgent(userAgent), isLookAhead);
    if (this.#writing !== undefined || this.#isPausing) return;
    if (this.#waiting.length >= BATCH) this.#write();
    else this.#timer ??= setTimeout(() => this.#write(), LONGEST_WAIT_MS);
  }

  /** Resolves when all that was recorded until now is written, or cannot be. */
  async flush(): Promise<void> {
    await this.#writing;
    while (this.#waiting.length > 0 && this.#failures < TRIES) {
      this.#write();
      await this.#writing;
    }
  }

  async onApplicationShutdown(): Promise<void> {
    await this.flush();
    clearTimeout(this.#timer);
  }

  #write(): void {
    clearTimeout(this.#timer);
    this.#timer = undefined;
    this.#isPausing = false;
    const begin = performance.now();
    const batch = this.#waiting.take();
    if (batch === undefined) return;
    this.#writing = this.#writeBatch(batch).finally(() => {
      this.#writing = undefined;
      if (this.#waiting.length === 0) return;
      this.#isPausing = this.#failures > 0 || isStorm(this.#waiting.length);
      this.#timer = setTimeout(() => this.#write(), this.#pause(begin));
    });
  }

  /** As long as the batch took, in a storm: it leaves the database half of its time for the rest. */
  #pause(begin: number): number {
    if (this.#failures > 0) return RETRY_AFTER_MS;
    if (this.#isPausing) return performance.now() - begin;
    return this.#waiting.length >= BATCH ? 0 : LONGEST_WAIT_MS;
  }

  async #writeBatch(batch: RequestBlock): Promise<void> {
    try {
      await this.requests.write(batch);
      this.#failures = 0;
      this.#waiting.free(batch);
    } catch (error) {
      await this.#keep(batch, error);
    }
    if (this.#refused === 0) return;
    this.logger.error({ events: this.#refused }, 'opens and clicks were lost: too many wait to be written');
    this.#refused = 0;
  }

  /** For the next try; but what the database answers with an error again and again must not block the rest. */
  async #keep(batch: RequestBlock, error: unknown): Promise<void> {
    this.#failures += 1;
    const isReachable = await this.database.ping().then(
      () => true,
      () => false,
    );
    const lost = isReachable && this.#failures >= TRIES;
    const message = 'opens and clicks could not be written';
    const fields = { events: batch.length, lost };
    if (lost) {
      this.logger.error({ ...fields, error: describeError(error) }, message);
      this.#failures = 0;
    } else {
      logFailure(this.logger, error, message, fields);
      this.#waiting.putBack(batch);
    }
  }
}

function isStorm(waiting: number): boolean {
  return waiting >= STORM.from && waiting < STORM.to;
}
