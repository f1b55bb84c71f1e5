import { sql } from 'kysely';
import type { Logger } from 'pino';
import { present, presentAnd } from '../database/clock.js';
import type { Database } from '../database/database.js';
import { Loop } from '../lifecycle/loop.js';
import { logFailure } from '../lifecycle/outage.js';
import type { Notifications } from '../notifications.js';
import { OUTBOX_CHANNEL } from '../outbox/outbox.js';
import { drain } from './drain.js';
import type { JobCatalogue, QueueName } from './job.js';
import { isUnleased } from './lease.js';
import type { QueueBackend, WorkQueue } from './queue-backend.js';

const BATCH = 500;
const POLL_MS = 1_000;
/** After so long in the queue a job is offered again under its old id: a no-op, unless the queue lost it. */
const OFFER_AGAIN_MS = 5_000;

interface OutboxRow {
  readonly id: string;
  readonly environmentId: number | null;
  readonly eventName: string;
  readonly payload: object;
}

interface DueRow {
  readonly id: number;
  readonly handler: string;
  readonly queue: QueueName;
  readonly attempts: number;
}

/**
 * Turns outbox rows into inbox rows, one for each handler, and wakes the queue for every inbox row that
 * is due. All workers run one; SKIP LOCKED keeps them apart. A wake-up makes it quick, polling makes it sure:
 * an emptied Redis is filled again from the inbox.
 */
export class Relay {
  readonly #queues = new Map<QueueName, WorkQueue>();
  readonly #loop: Loop;

  constructor(
    private readonly database: Database,
    notifications: Notifications,
    private readonly backend: QueueBackend,
    private readonly catalogue: JobCatalogue,
    private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => logFailure(this.logger, error, 'relay failed'),
      [(wake) => notifications.listen(OUTBOX_CHANNEL, wake)],
    );
  }

  start(): void {
    for (const name of this.catalogue.queues) this.#queues.set(name, this.backend.queue(name));
    this.#loop.start();
  }

  async stop(): Promise<void> {
    await this.#loop.stop();
    await Promise.all([...this.#queues.values()].map((queue) => queue.close()));
  }

  /** Relays and enqueues what there is. */
  async pass(): Promise<void> {
    if (!(await this.#isAny())) return;
    await drain(BATCH, () => this.#relay());
    await drain(BATCH, () => this.#enqueueDue());
  }

  #isAny(): Promise<boolean> {
    return this.database.holds(
      sql`(
        exists (select 1 from platform.outbox)
        or (select run_at from platform.inbox where finished_at is null order by run_at limit 1) <= ${present}
      )`,
    );
  }

  #relay(): Promise<number> {
    return this.database.system(async () => {
      const { rows } = await sql<OutboxRow>`
        delete from platform.outbox where id in (
          select id from platform.outbox order by id limit ${BATCH} for update skip locked
        ) returning id, environment_id, event_name, payload
      `.execute(this.database.tables());
      const items = rows.flatMap((row) =>
        this.catalogue.startedBy(row.eventName).map(({ name, queue }) => ({
          event_id: row.id,
          environment_id: row.environmentId,
          payload: row.payload,
          handler: name,
          queue,
        })),
      );
      await sql`
        insert into platform.inbox (event_id, handler, queue, environment_id, payload, run_at)
        select e.event_id, e.handler, e.queue, e.environment_id, e.payload, ${present}
        from jsonb_to_recordset(${JSON.stringify(items)}::jsonb)
          as e(event_id uuid, handler text, queue text, environment_id bigint, payload jsonb)
        on conflict (event_id, handler) do nothing
      `.execute(this.database.tables());
      return rows.length;
    });
  }

  async #enqueueDue(): Promise<number> {
    const due = await this.database.system(async () => {
      const { rows } = await sql<DueRow>`
        update platform.inbox set enqueued_at = ${present} where id in (
          select id from platform.inbox
          where finished_at is null and run_at <= ${present} and ${isUnleased}
            and (enqueued_at is null or enqueued_at < run_at or enqueued_at <= ${presentAnd(-OFFER_AGAIN_MS)})
          order by run_at limit ${BATCH} for update skip locked
        ) returning id, handler, queue, attempts
      `.execute(this.database.tables());
      return rows;
    });
    for (const [name, queue] of this.#queues) {
      const jobs = due.filter((row) => row.queue === name);
      if (jobs.length > 0) await queue.add(jobs.map(toQueued));
    }
    return due.length;
  }
}

function toQueued({ id, handler, attempts }: DueRow) {
  // The number of tries is part of the id, so that a try that died can be queued anew.
  return { id: `${id}-${attempts}`, name: handler, data: { v: 1 as const, inboxId: id } };
}
