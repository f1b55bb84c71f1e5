import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { Clock } from '#kernel';
import {
  type Config,
  CONFIG,
  Database,
  LOGGER,
  PeriodicTask,
  PeriodicTasks,
  RetiredTables,
  type RetentionKind,
} from '#platform';
import { HorizonRaising } from './horizon-raising.service.js';

/** Lets old mails and events go: what the installation keeps no longer. */
@Injectable()
export class LetOldRowsGo extends PeriodicTask {
  override readonly name = 'let-old-rows-go';
  override readonly everyMs = 10 * 60_000;
  readonly #stopping = new AbortController();

  constructor(
    @Inject(HorizonRaising) private readonly horizons: HorizonRaising,
    @Inject(RetiredTables) private readonly retired: RetiredTables,
    @Inject(CONFIG) private readonly config: Config,
    @Inject(Clock) private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const { RETENTION_DELIVERIES_DAYS, RETENTION_EVENTS_DAYS } = this.config;
    const kept = {
      DELIVERIES: RETENTION_DELIVERIES_DAYS,
      STEPS: RETENTION_DELIVERIES_DAYS,
      EVENTS: RETENTION_EVENTS_DAYS,
    };
    for (const [kind, days] of Object.entries(kept) as [RetentionKind, number | undefined][])
      if (days !== undefined) await this.horizons.raise({ kind, day: this.#monthBefore(days) });
    await this.retired.clear(this.#stopping.signal);
  }

  /** What is being archived begins anew the next time. */
  abort(): void {
    this.#stopping.abort();
  }

  /** The first day of the month that it was so many days ago. */
  #monthBefore(days: number): string {
    const time = new Date(this.clock.now().getTime() - days * 24 * 60 * 60_000);
    return `${time.toISOString().slice(0, 7)}-01`;
  }
}

/** Runs apart from other periodic tasks, which must not wait while a month is archived. */
@Injectable()
export class RetentionKeeper {
  readonly #tasks: PeriodicTasks;

  constructor(
    @Inject(Database) database: Database,
    @Inject(LetOldRowsGo) private readonly task: LetOldRowsGo,
    @Inject(Clock) clock: Clock,
    @Inject(LOGGER) logger: Logger,
  ) {
    this.#tasks = new PeriodicTasks(database, [task], clock, logger);
  }

  start(): void {
    this.#tasks.start();
  }

  stop(): Promise<void> {
    this.task.abort();
    return this.#tasks.stop();
  }
}
