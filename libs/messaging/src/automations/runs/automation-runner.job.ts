import { Inject, Injectable } from '@nestjs/common';
import type { Logger } from 'pino';
import { TRIGGERS_CHANNEL } from '#audience';
import { Clock, doublingBackoff } from '#kernel';
import { logFailure, LOGGER, Loop, Notifications } from '#platform';
import { AutomationEntriesService } from './automation-entries.service.js';
import { AutomationStepsService } from './automation-steps.service.js';
import { DueWorkQuery } from './due-work.query.js';
import { RunRepository, RUNS_CHANNEL } from './run.repository.js';

/** Delay of a step when no notification comes. */
const POLL_MS = 500;

/** Due work of one automation. */
interface WorkItem {
  /** Names it, for its backoff and the log. */
  readonly name: string;
  /** Resolves to true when there may be more of it. */
  readonly work: () => Promise<boolean>;
}

/**
 * Runs automations, in every worker. It polls the tables and sets no timers: a run that waits costs nothing but a row, and
 * what was due while every worker was down is done.
 */
@Injectable()
export class AutomationRunner {
  readonly #loop: Loop;
  readonly #backoffs = new Backoffs();
  #stopping = false;

  constructor(
    private readonly due: DueWorkQuery,
    private readonly entries: AutomationEntriesService,
    private readonly runs: RunRepository,
    private readonly steps: AutomationStepsService,
    notifications: Notifications,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => this.#logFailure(error),
      [TRIGGERS_CHANNEL, RUNS_CHANNEL].map((channel) => (wake) => notifications.listen(channel, wake)),
    );
  }

  start(): void {
    this.#loop.start();
  }

  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop.stop();
  }

  /** Does all that is due, an item of each automation at a time. An item that fails backs off and holds up no others. */
  async pass(): Promise<void> {
    for (let isMore = true; isMore && !this.#stopping;) {
      isMore = false;
      for (const item of await this.#dueWork()) {
        if (await this.#try(item)) isMore = true;
      }
    }
  }

  /** Enters subscribers whose trigger fired, wakes runs for which it happened what they wait for, cancels runs of archived automations, executes due steps. */
  async #dueWork(): Promise<readonly WorkItem[]> {
    if (!(await this.due.isAny())) return [];
    const entries = await this.due.entries();
    const fulfilled = await this.due.fulfilled();
    const closings = await this.due.closings();
    const versions = await this.due.versions(false);
    return [
      ...entries.map(({ scope, id }) => ({
        name: `entries of ${id}`,
        work: async () => (await this.entries.drain(scope, id)) > 0,
      })),
      ...fulfilled.map((scope) => ({
        name: `waits of ${scope.environmentId}`,
        work: () => this.runs.wakeFulfilled(scope),
      })),
      ...closings.map(({ scope, id }) => ({
        name: `closing of ${id}`,
        work: () => this.runs.cancel(scope, id, this.clock.now()),
      })),
      ...versions.map((version) => ({
        name: `steps of version ${version.versionId}`,
        work: () => this.steps.execute(version),
      })),
    ];
  }

  async #try({ name, work }: WorkItem): Promise<boolean> {
    if (this.#stopping || this.#backoffs.isWaiting(name, this.clock.now())) return false;
    try {
      const isMore = await work();
      this.#backoffs.succeeded(name);
      return isMore;
    } catch (error) {
      this.#logFailure(error, { of: name, backoffMs: this.#backoffs.failed(name, this.clock.now()) });
      return false;
    }
  }

  #logFailure(error: unknown, fields: { readonly of?: string; readonly backoffMs?: number } = {}): void {
    logFailure(this.logger, error, 'the work of an automation failed', fields);
  }
}

const FIRST_BACKOFF_MS = 500;
const LONGEST_BACKOFF_MS = 60_000;

/** Backoffs of work that failed: twice as long each time, up to a minute. */
export class Backoffs {
  readonly #backoffs = new Map<string, { readonly failures: number; readonly until: Date }>();

  isWaiting(work: string, now: Date): boolean {
    const backoff = this.#backoffs.get(work);
    return backoff !== undefined && backoff.until > now;
  }

  /** Returns the backoff that begins now, in milliseconds. */
  failed(work: string, now: Date): number {
    const failures = (this.#backoffs.get(work)?.failures ?? 0) + 1;
    const ms = doublingBackoff(failures, FIRST_BACKOFF_MS, LONGEST_BACKOFF_MS);
    this.#backoffs.set(work, { failures, until: new Date(now.getTime() + ms) });
    return ms;
  }

  succeeded(work: string): void {
    this.#backoffs.delete(work);
  }
}
