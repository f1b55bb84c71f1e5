import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import { Clock, withTimeout, nextTry } from '#kernel';
import {
  Database,
  describeError,
  isUnavailability,
  leaseDue,
  logFailure,
  LOGGER,
  Loop,
  Notifications,
} from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { type DueVersion, DueWorkQuery } from './due-work.query.js';
import { holdSteps, RunRepository, RUNS_CHANNEL, wakeRunners } from './run.repository.js';
import { onwards, StepBatch } from './step-batch.js';
import { VersionPlansQuery } from './version-plans.query.js';
import { type WebhookCall, WebhookClientService, type WebhookOutcome } from './webhook-client.service.js';

const POLL_MS = 500;
/** Calls at once, of one version. */
const MAX_CALLS = 32;
/** While calls are in flight, calls that become due are looked for this often. */
const POLL_WHILE_CALLING_MS = 250;
/** Rest of a version whose due calls another worker has just leased. */
const PAUSE_MS = 1_000;
/** Longer than a call can take. When a worker dies, another one makes the call after this time. */
const LEASE_MS = 30_000;

const SECOND_MS = 1_000;
const MINUTE_MS = 60 * SECOND_MS;
/** Between one try and the next: six tries in two and a half hours. */
const RETRY_AFTER_MS = [10 * SECOND_MS, MINUTE_MS, 5 * MINUTE_MS, 30 * MINUTE_MS, 120 * MINUTE_MS];

/**
 * Calls webhooks, in every worker: apart from all other steps, so that no slow answer holds those up. A call is made outside of
 * any transaction: when a worker dies meanwhile, it is repeated with the same `webhook-id`, and the step is taken once.
 */
@Injectable()
export class WebhookCaller {
  readonly #loop: Loop;
  /** Calls in flight by version. They outlast a pass that fails. */
  readonly #calling = new Map<number, Promise<void>>();
  #stopping = false;

  constructor(
    private readonly database: Database,
    private readonly due: DueWorkQuery,
    private readonly plans: VersionPlansQuery,
    private readonly runs: RunRepository,
    private readonly client: WebhookClientService,
    notifications: Notifications,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {
    this.#loop = new Loop(
      POLL_MS,
      () => this.pass(),
      (error) => this.#logFailure(error),
      [(wake) => notifications.listen(RUNS_CHANNEL, wake)],
    );
  }

  start(): void {
    this.#loop.start();
  }

  /** Waits for the calls in flight, at most as long as a call may take. */
  async stop(): Promise<void> {
    this.#stopping = true;
    await this.#loop.stop();
    await Promise.all(this.#calling.values());
  }

  /** Makes all calls that are due, and those that become due meanwhile: no slow answer holds up other automations. */
  async pass(): Promise<void> {
    const pausedUntil = new Map<number, number>();
    for (;;) {
      for (const version of await this.#dueVersions()) {
        const { versionId } = version;
        const isPaused = performance.now() < (pausedUntil.get(versionId) ?? 0);
        if (this.#calling.has(versionId) || isPaused) continue;
        const leave = (made: number) => {
          this.#calling.delete(versionId);
          if (made === 0) pausedUntil.set(versionId, performance.now() + PAUSE_MS);
        };
        this.#calling.set(versionId, this.#callAll(version).then(leave));
      }
      if (this.#calling.size === 0) return;
      await withTimeout(Promise.race(this.#calling.values()), POLL_WHILE_CALLING_MS, () => undefined);
    }
  }

  async #dueVersions(): Promise<readonly DueVersion[]> {
    if (this.#stopping || !(await this.due.isCalling())) return [];
    return await this.due.versions(true);
  }

  async #callAll(version: DueVersion): Promise<number> {
    try {
      const calls = await this.#lease(version);
      await Promise.all(calls.map((call) => this.#call(call)));
      return calls.length;
    } catch (error) {
      this.#logFailure(error);
      return 0;
    }
  }

  /** Leases the next calls of an active automation. */
  async #lease({ scope, versionId }: DueVersion): Promise<readonly WebhookCall[]> {
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
        limit: MAX_CALLS,
        leaseMs: LEASE_MS,
        set: sql`, attempts = attempts + 1`,
      });
      const { rows } = await sql<Omit<WebhookCall, 'plan'>>`
        with leased as (
          ${due} returning id, subscriber_id, position, is_waiting, entered_at, attempts, wake_at
        )
        select l.id, l.subscriber_id, l.position, l.is_waiting, false as has_happened, (l.entered_at at time zone 'UTC')::date as entered_on,
          l.attempts, l.wake_at as leased_until, d.data
        from leased l
        left join messaging.automation_run_data d on d.run_id = l.id and d.environment_id = ${environmentId}
      `.execute(this.database.tables());
      return rows.map((row) => ({ ...row, plan }));
    });
  }

  /** A fault of ours holds up no other call. When the database is unavailable, the call is repeated after the lease ends. */
  async #call(call: WebhookCall): Promise<void> {
    try {
      await this.#settle(call, await this.client.call(call));
    } catch (error) {
      this.#logFailure(error, { run: call.id, failures: call.attempts });
      if (!isUnavailability(error)) await this.#setAside(call, describeError(error));
    }
  }

  #settle(call: WebhookCall, outcome: WebhookOutcome): Promise<void> {
    return this.#whileLeased(call, async (now) => {
      const { attempts, plan, position } = call;
      const isFinal = outcome.kind === 'accepted' || outcome.isFinal;
      const wakeAt = isFinal ? null : nextTry(RETRY_AFTER_MS, attempts, now);
      if (wakeAt !== null) return this.runs.postpone(plan.scope, call, { attempts, wakeAt });
      const batch = new StepBatch(plan, [call], now);
      batch.apply(position, [onwards(outcome.detail, outcome.kind === 'accepted' ? 'DONE' : 'FAILED')]);
      batch.park();
      await this.runs.save(batch);
      wakeRunners(this.database);
    });
  }

  /** Postpones a call after a fault of ours; after the last try the run has failed, with the reason. */
  async #setAside(call: WebhookCall, reason: string): Promise<void> {
    const { plan, attempts } = call;
    try {
      await this.#whileLeased(call, async (now) => {
        await this.runs.setAside(plan, call, { attempts, reason }, now);
      });
    } catch (error) {
      this.#logFailure(error, { run: call.id });
    }
  }

  /** Does nothing when the run has ended meanwhile, or another worker has leased it. */
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

  #logFailure(error: unknown, fields: { readonly run?: string; readonly failures?: number } = {}): void {
    logFailure(this.logger, error, 'the webhook of an automation could not be called', fields);
  }
}
