import { sql } from 'kysely';
import type { Logger } from 'pino';
import type { Clock } from '#kernel';
import { present, presentAnd } from '../database/clock.js';
import type { Database } from '../database/database.js';
import { named } from '../database/statement.js';
import { DecoratedMethods, repeatedIn } from '../decorated-methods.js';
import { Loop } from '../lifecycle/loop.js';
import { logFailure } from '../lifecycle/outage.js';

interface Schedule {
  /** The row's in `platform.schedule`. */
  readonly name: string;
  readonly everyMs: number;
}

/** Something to do that is due again and again. */
export interface PeriodicTask extends Schedule {
  run(): Promise<void>;
}

const methods = new DecoratedMethods<Schedule, () => Promise<void>>();

/** Has a method run again and again: one worker runs it, once an interval. Must be safe to repeat: a worker may die in the middle. */
export const Periodic = (name: string, { everyMs }: Omit<Schedule, 'name'>) =>
  methods.mark({ name, everyMs });

/** Periodic methods of the instances. Throws for two of one name, of which one would never run. */
export function periodicTasks(instances: Iterable<unknown>): PeriodicTask[] {
  const tasks = methods.find(instances).map(({ note, run }) => ({ ...note, run }));
  const twice = repeatedIn(tasks.map(({ name }) => name));
  if (twice !== undefined) throw new Error(`Two periodic tasks are called ${twice}.`);
  return tasks;
}

const TICK_MS = 1_000;

/** Offers each task when its interval is over; the row in `platform.schedule` says whether it still is. */
export class PeriodicTasks {
  readonly #loop: Loop;
  readonly #nextOffer = new Map<string, number>();
  #tasks: readonly PeriodicTask[] | undefined;

  /** `tasks` is called at the start: then the program has made all instances. */
  constructor(
    private readonly database: Database,
    private readonly tasks: () => readonly PeriodicTask[],
    private readonly clock: Clock,
    private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      TICK_MS,
      () => this.pass(),
      () => undefined,
    );
  }

  start(): void {
    this.#tasks = this.tasks();
    this.#loop.start();
  }

  stop(): Promise<void> {
    return this.#loop.stop();
  }

  /** Runs every task whose interval is over. One that fails does not keep the others. */
  async pass(): Promise<void> {
    this.#tasks ??= this.tasks();
    for (const task of this.#tasks) {
      if (this.clock.now().getTime() < (this.#nextOffer.get(task.name) ?? 0)) continue;
      try {
        if (await this.#claim(task)) await task.run();
      } catch (error) {
        logFailure(this.logger, error, 'periodic task failed', { task: task.name });
      }
      this.#nextOffer.set(task.name, this.clock.now().getTime() + task.everyMs);
    }
  }

  async #claim(task: PeriodicTask): Promise<boolean> {
    // A tenth of the interval is forgiven, so that a worker's own rhythm does not skip a turn.
    const ranBefore = presentAnd(-0.9 * task.everyMs);
    const rows = await this.database.statement(
      'system',
      sql`${named('claim_periodic_task')}
        with added as (
          insert into platform.schedule (name, last_run_at) values (${task.name}, ${present})
          on conflict do nothing returning name
        ), taken as (
          update platform.schedule set last_run_at = ${present} where name = ${task.name} and last_run_at <= ${ranBefore}
          returning name
        )
        select name from added union all select name from taken
      `,
    );
    return rows.length === 1;
  }
}
