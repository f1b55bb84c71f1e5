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
import { ProjectRetention } from './project-retention.service.js';

/** Lets old mails and events go: what the installation keeps no longer. */
@Injectable()
export class LetOldRowsGo extends PeriodicTask {
  override readonly name = 'let-old-rows-go';
  override readonly everyMs = 10 * 60_000;
  readonly #stopping = new AbortController();

  constructor(
    private readonly horizons: HorizonRaising,
    private readonly projects: ProjectRetention,
    private readonly retired: RetiredTables,
    @Inject(CONFIG) private readonly config: Config,
    private readonly clock: Clock,
  ) {
    super();
  }

  override async run(): Promise<void> {
    const { RETENTION_DELIVERIES_DAYS, RETENTION_EVENTS_DAYS } = this.config;
    const { signal } = this.#stopping;
    // What is left over; without a place for the archive it goes no further.
    await this.retired.clear(signal);
    const kept = {
      DELIVERIES: RETENTION_DELIVERIES_DAYS,
      STEPS: RETENTION_DELIVERIES_DAYS,
      EVENTS: RETENTION_EVENTS_DAYS,
    };
    for (const [kind, days] of Object.entries(kept) as [RetentionKind, number | undefined][])
      if (days !== undefined)
        await this.horizons.raise({
          kind,
          day: `${this.#dayBefore(days).slice(0, 7)}-01`,
          environmentId: null,
        });
    await this.retired.clear(signal);
    for (const { kind, days, environmentId } of await this.projects.kept()) {
      await this.horizons.raise({ kind, day: this.#dayBefore(days), environmentId });
      await this.projects.remove(kind, environmentId, signal);
    }
  }

  /** What is being archived begins anew the next time. */
  abort(): void {
    this.#stopping.abort();
  }

  #dayBefore(days: number): string {
    return new Date(this.clock.now().getTime() - days * 24 * 60 * 60_000).toISOString().slice(0, 10);
  }
}

/** Runs apart from other periodic tasks, which must not wait while a month is archived. */
@Injectable()
export class RetentionKeeper {
  readonly #tasks: PeriodicTasks;

  constructor(
    database: Database,
    private readonly task: LetOldRowsGo,
    clock: Clock,
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
