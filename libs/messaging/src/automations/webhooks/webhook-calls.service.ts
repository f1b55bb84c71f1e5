import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, nextTry, type ProjectScope } from '#kernel';
import { Database, leaseDue } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { holdSteps } from '../runs/run-locks.query.js';
import { wakeRunners } from '../runs/runs.channel.js';
import { RunRepository } from '../runs/run.repository.js';
import { onwards } from '../nodes/step.js';
import type { VersionPlan } from '../nodes/version-plan.js';
import { VersionPlans } from '../runs/version-plans.service.js';
import { type ClaimedRun, StepBatch } from '../runs/step-batch.js';
import { StepBatches } from '../runs/step-batches.service.js';
import { RETRY_AFTER_MS, type WebhookOutcome } from './webhook-outcome.js';

/** Longer than a call can take. When a worker dies, another one makes the call after this time. */
const LEASE_MS = 30_000;

/** A call to make: this worker has leased the run until `leasedUntil`. */
export interface WebhookCall extends ClaimedRun {
  readonly plan: VersionPlan;
  /** This one included. */
  readonly attempts: number;
  readonly leasedUntil: Date;
  /** What the client gave when it let the subscriber in. */
  readonly data: unknown;
}

/**
 * Leases the calls to make and saves their outcomes. A call is made outside of any transaction, so when a worker dies
 * meanwhile it is repeated, with the same `webhook-id`; the step is taken once.
 */
@Injectable()
export class WebhookCalls {
  constructor(
    private readonly database: Database,
    private readonly plans: VersionPlans,
    private readonly batches: StepBatches,
    private readonly runs: RunRepository,
    private readonly clock: Clock,
  ) {}

  /** The next calls of an active automation, leased. */
  async claim(scope: ProjectScope, versionId: number, limit: number): Promise<readonly WebhookCall[]> {
    const plan = await this.plans.of(scope, versionId);
    return this.database.transaction(scope, async () => {
      if (!(await holdSteps(this.database, plan))) return [];
      const { environmentId } = scope;
      const due = leaseDue({
        table: 'messaging.automation_runs',
        key: 'id',
        environmentId,
        due: 'wake_at',
        where: sql`version_id = ${versionId} and is_calling`,
        limit,
        leaseMs: LEASE_MS,
        set: sql`, attempts = attempts + 1`,
      });
      const { rows } = await sql<Omit<WebhookCall, 'plan'>>`
        with leased as (
          ${due} returning id, subscriber_id, position, is_waiting, entered_at, attempts, wake_at
        )
        select l.id, l.subscriber_id, l.position, l.is_waiting, (l.entered_at at time zone 'UTC')::date as entered_on,
          l.attempts, l.wake_at as leased_until, d.data
        from leased l
        left join messaging.automation_run_data d on d.run_id = l.id and d.environment_id = ${environmentId}
      `.execute(this.database.tables());
      return rows.map((row) => ({ ...row, plan }));
    });
  }

  /** Does nothing when the run has ended meanwhile, or another worker has leased it. */
  settle(call: WebhookCall, outcome: WebhookOutcome): Promise<void> {
    return this.#whileLeased(call, async (now) => {
      const { attempts, plan, position } = call;
      const isFinal = outcome.kind === 'accepted' || outcome.isFinal;
      const wakeAt = isFinal ? null : nextTry(RETRY_AFTER_MS, attempts, now);
      if (wakeAt !== null) return this.runs.postpone(plan.scope, call, { attempts, wakeAt });
      const batch = new StepBatch(plan, [call], now);
      batch.apply(position, [onwards(outcome.detail, outcome.kind === 'accepted' ? 'DONE' : 'FAILED')]);
      batch.park();
      await this.batches.save(batch);
      wakeRunners(this.database);
    });
  }

  /** After a fault of ours the call is made later; after the last try the run has failed, with the reason. */
  setAside(call: WebhookCall, reason: string): Promise<void> {
    return this.#whileLeased(call, async (now) => {
      await this.runs.setAside(call.plan.scope, call, { attempts: call.attempts, reason }, now);
    });
  }

  #whileLeased(
    { id, plan: { scope }, leasedUntil }: WebhookCall,
    work: (now: Date) => Promise<void>,
  ): Promise<void> {
    return this.database.transaction(scope, async () => {
      const leased = await this.database
        .tables<MessagingTables>()
        .selectFrom('messaging.automation_runs')
        .select('id')
        .where('environmentId', '=', scope.environmentId)
        .where('id', '=', id)
        .where('isCalling', '=', true)
        .where('wakeAt', '=', leasedUntil)
        .forUpdate()
        .executeTakeFirst();
      if (leased !== undefined) await work(this.clock.now());
    });
  }
}
