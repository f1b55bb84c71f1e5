import { createHash } from 'node:crypto';
import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Logger } from 'pino';
import {
  type ConsentOutcomes,
  ConsentsService,
  type Recipient,
  RecipientsQuery,
  SegmentMembersService,
  SegmentsQuery,
  SubscriberRulesService,
} from '#audience';
import { EmailQuotaService } from '#billing';
import { Clock, parseEmailAddress, type ProjectScope } from '#kernel';
import { Database, describeError, isUnavailability, LOGGER } from '#platform';
import { FromAddressesService } from '../../campaigns/from-addresses.service.js';
import { wakeSenders } from '../../deliveries/delivery-queue.query.js';
import type { NodeType } from '../graph/automation-graph.js';
import { delayDetail, delayEnd } from '../graph/delay.js';
import type { DueVersion } from './due-work.query.js';
import { holdSteps, RunRepository } from './run.repository.js';
import { type ClaimedRun, onwards, type StepBatch, type StepResult } from './step-batch.js';
import { type PlannedStep, type VersionPlan, VersionPlansQuery } from './version-plans.query.js';

/** When the plan's e-mails of the month are used up, the step is tried again after this time. */
const QUOTA_RETRY_MS = 15 * 60_000;

export interface StepContext {
  readonly plan: VersionPlan;
  readonly now: Date;
}

type Results = readonly StepResult[];
type Executor<Type extends NodeType> = (
  step: PlannedStep<Type>,
  runs: readonly ClaimedRun[],
  context: StepContext,
) => Results | Promise<Results>;

type ConsentOutcome = ConsentOutcomes extends ReadonlyMap<string, infer One> ? One : never;
const SKIPPED_CONSENTS: Partial<Record<ConsentOutcome, string>> = {
  refused: 'unsubscribed before, and stays so',
  suppressed: 'suppressed',
  'no-topic': 'the topic is gone or not active',
};

interface Addressee {
  readonly runId: string;
  readonly subscriberId: string;
  readonly email: string;
  readonly key: string;
  readonly locale: string | null;
}

/** Executes one step of a version for a batch of runs. Its effects commit with the moves of the runs. */
@Injectable()
export class StepExecutorService {
  readonly #executors: { readonly [Type in NodeType]: Executor<Type> } = {
    trigger: (_, runs) => runs.map(() => onwards()),
    email: (step, runs, context) => this.#sendMails(step, runs, context),
    delay: ({ config }, runs, { now }) => {
      const until = delayEnd(config, now);
      return runs.map(() => ({ kind: 'wait', until, detail: delayDetail(until) }));
    },
    condition: async ({ config: { rules } }, runs, context) => {
      const holding = await this.#holding(rules, runs, context);
      const branches = runs.map(({ subscriberId }) => (holding.has(subscriberId) ? 'yes' : 'no'));
      return branches.map((branch) => onwards(branch, 'DONE', branch));
    },
    ab_split: ({ id, config: { weights } }, runs, { plan }) => {
      const sides = runs.map((run) => splitSide(weights, run.subscriberId, `${plan.automationId}/${id}`));
      return sides.map((side) => onwards(side, 'DONE', side));
    },
    goal: async ({ config: { rules, name } }, runs, context) => {
      const holding = await this.#holding(rules, runs, context);
      return runs.map(({ subscriberId }) =>
        holding.has(subscriberId) ? { kind: 'convert', detail: name } : onwards('not reached'),
      );
    },
    webhook: (_, runs) => runs.map(() => ({ kind: 'call' })),
    topic_action: (step, runs, context) => this.#changeConsents(step, runs, context),
    segment_action: (step, runs, context) => this.#changeSegment(step, runs, context),
  };

  constructor(
    private readonly database: Database,
    private readonly rules: SubscriberRulesService,
    private readonly consents: ConsentsService,
    private readonly segments: SegmentsQuery,
    private readonly members: SegmentMembersService,
    private readonly recipients: RecipientsQuery,
    private readonly fromAddresses: FromAddressesService,
    private readonly quota: EmailQuotaService,
  ) {}

  /** One result for each run, in the same order. */
  async execute<Type extends NodeType>(
    step: PlannedStep<Type>,
    runs: readonly ClaimedRun[],
    context: StepContext,
  ): Promise<Results> {
    const execute: Executor<Type> = this.#executors[step.type];
    return execute(step, runs, context);
  }

  #holding(
    rules: string,
    runs: readonly ClaimedRun[],
    { plan, now }: StepContext,
  ): Promise<ReadonlySet<string>> {
    return this.rules.holdingFor(plan.scope, rules, idsOf(runs), now);
  }

  async #changeConsents(
    { config: { action, topicKey } }: PlannedStep<'topic_action'>,
    runs: readonly ClaimedRun[],
    { plan }: StepContext,
  ): Promise<Results> {
    const change = action === 'subscribe' ? 'grantForAutomation' : 'revokeForAutomation';
    const outcomes = await this.consents[change](plan.scope, idsOf(runs), topicKey, plan.automationId);
    return runs.map(({ subscriberId }) => {
      const outcome = outcomes.get(subscriberId);
      const reason = outcome === undefined ? 'erased' : SKIPPED_CONSENTS[outcome];
      return reason === undefined ? onwards(outcome) : onwards(reason, 'SKIPPED');
    });
  }

  async #changeSegment(
    { config: { action, segmentKey } }: PlannedStep<'segment_action'>,
    runs: readonly ClaimedRun[],
    { plan: { scope }, now }: StepContext,
  ): Promise<Results> {
    if ((await this.segments.find(scope, segmentKey))?.type !== 'STATIC')
      return runs.map(() => onwards('the segment is gone', 'SKIPPED'));
    const ids = idsOf(runs);
    const known = await this.recipients.lookUp(scope, [], ids, now);
    const subscriberIds = ids.filter((id) => known.has(id));
    if (subscriberIds.length > 0) await this.members[action](scope, segmentKey, { subscriberIds });
    return ids.map((id) => (known.has(id) ? onwards() : onwards('erased', 'SKIPPED')));
  }

  /**
   * Creates one delivery for each run; its `source_id` leads to the run and the step. Subscribers who may get no mail skip
   * the step. Live mail counts against the plan when its delivery is created.
   */
  async #sendMails(
    step: PlannedStep<'email'>,
    runs: readonly ClaimedRun[],
    { plan, now }: StepContext,
  ): Promise<Results> {
    const { scope, mailTopicIds } = plan;
    const topicId = mailTopicIds[step.place] ?? null;
    const found = await this.recipients.lookUp(scope, topicId === null ? [] : [topicId], idsOf(runs), now);
    const wanted = runs.filter(({ subscriberId }) => found.get(subscriberId)?.obstacle === null);
    const allowed = new Set(wanted.slice(0, await this.#allowance(scope, wanted.length, now)));
    const addressees = [...allowed].map((run) => addresseeOf(run, found));
    await this.#insertDeliveries(step, addressees, scope, now);
    const until = new Date(now.getTime() + QUOTA_RETRY_MS);
    return runs.map((run) => {
      const recipient = found.get(run.subscriberId);
      if (recipient === undefined) return onwards('erased', 'SKIPPED');
      if (recipient.obstacle !== null) return onwards(recipient.obstacle, 'SKIPPED');
      return allowed.has(run) ? onwards() : { kind: 'postpone', until };
    });
  }

  /** Takes as many of the wanted mails as the month has left. Test mail is not counted. */
  async #allowance(scope: ProjectScope, wanted: number, now: Date): Promise<number> {
    if (scope.environment === 'TEST' || wanted === 0) return wanted;
    const all = await this.quota.reserve(scope, wanted, now);
    if (all.granted) return await this.#use(scope, all.periodStart, wanted);
    const rest = Math.min(wanted, all.remaining);
    const some = rest === 0 ? all : await this.quota.reserve(scope, rest, now);
    return some.granted ? await this.#use(scope, some.periodStart, rest) : 0;
  }

  async #use(scope: ProjectScope, periodStart: Date, emails: number): Promise<number> {
    await this.quota.settle(scope, periodStart, { used: emails, released: 0 });
    return emails;
  }

  async #insertDeliveries(
    { config, place }: PlannedStep<'email'>,
    addressees: readonly Addressee[],
    scope: ProjectScope,
    now: Date,
  ): Promise<void> {
    if (addressees.length === 0) return;
    const from = await this.fromAddresses.of(scope, config);
    if (from === null) throw new Error('The project of this scope is gone.');
    const column = (field: keyof Addressee) => addressees.map((addressee) => addressee[field]);
    await this.database.transaction(scope, async () => {
      await sql`
        insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
          address_key, locale, message_id, state, next_attempt_at, created_at)
        select p.delivery_id, (${now}::timestamptz at time zone 'UTC')::date, ${scope.environmentId}, 'AUTOMATION',
          messaging.step_id(p.run_id, ${place}), p.subscriber_id, p.email, p.key, p.locale,
          '<' || p.delivery_id || '@' || ${from.sender.messageIdDomain}::text || '>', 'PENDING', ${now}, ${now}
        from (
          select platform.new_id() as delivery_id, a.*
          from unnest(${column('runId')}::uuid[], ${column('subscriberId')}::uuid[], ${column('email')}::text[],
            ${column('key')}::text[], ${column('locale')}::text[]) a(run_id, subscriber_id, email, key, locale)
        ) p
        returning id
      `.execute(this.database.tables());
      wakeSenders(this.database);
    });
  }
}

const idsOf = (runs: readonly ClaimedRun[]): string[] => runs.map(({ subscriberId }) => subscriberId);

function addresseeOf(
  { id: runId, subscriberId }: ClaimedRun,
  found: ReadonlyMap<string, Recipient>,
): Addressee {
  const { email = '', locale = null } = found.get(subscriberId) ?? {};
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new Error(`The address of a subscriber ${parsed.fault}.`);
  return { runId, subscriberId, email, key: parsed.address.key, locale };
}

/** Octets of the hash that decide: as many as a number represents exactly. */
const OCTETS = 6;

/** The branch of a subscriber at a node: always the same, and distributed over all subscribers by the weights. */
export function splitSide(
  { a, b }: { readonly a: number; readonly b: number },
  subscriberId: string,
  node: string,
): 'a' | 'b' {
  const hash = createHash('sha256').update(`${node}/${subscriberId}`).digest();
  return hash.readUIntBE(0, OCTETS) / 2 ** (OCTETS * 8) < a / (a + b) ? 'a' : 'b';
}

/** Runs per transaction: few enough to be done in a moment, enough that statements are shared. */
const BATCH = 1_000;

/** When so many runs fail in a row, the fault is not theirs. */
const MAX_IN_A_ROW = 3;

interface Pace {
  /** The size of the next batch. */
  readonly runs: number;
  /** Runs set aside since a step last succeeded. */
  readonly setAside: number;
}

const FULL: Pace = { runs: BATCH, setAside: 0 };

/**
 * Executes due steps in batches, each in one transaction: a worker that is killed leaves all of it or nothing. A batch that
 * fails is halved until the run at fault is alone and set aside; then batches grow again. So one run holds up no others.
 */
@Injectable()
export class AutomationStepsService {
  readonly #paces = new Map<number, Pace>();

  constructor(
    private readonly database: Database,
    private readonly runs: RunRepository,
    private readonly executor: StepExecutorService,
    private readonly plans: VersionPlansQuery,
    private readonly clock: Clock,
    @Inject(LOGGER) private readonly logger: Logger,
  ) {}

  /** Resolves to true when more may be due now. Throws when no run succeeds. */
  async execute(version: DueVersion): Promise<boolean> {
    const pace = this.#paces.get(version.versionId) ?? FULL;
    return pace.runs === 1 ? this.#executeAlone(version, pace) : this.#executeBatch(version, pace);
  }

  async #executeBatch(version: DueVersion, pace: Pace): Promise<boolean> {
    try {
      const batch = await this.#transact(version, pace.runs, async (claimed) => {
        for (const place of claimed.plan.order) await this.#executeAt(claimed, place);
      });
      this.#grow(version, pace);
      return batch !== null;
    } catch (error) {
      if (isUnavailability(error)) throw error;
      this.#paces.set(version.versionId, { ...pace, runs: Math.floor(pace.runs / 2) });
      return true;
    }
  }

  /** Executes one step of one run; a run that waits only leaves its delay. A run that fails is set aside. */
  async #executeAlone(version: DueVersion, pace: Pace): Promise<boolean> {
    let run = null as ClaimedRun | null;
    try {
      await this.#transact(version, 1, async (batch) => {
        [run = null] = batch.runs;
        if (run?.isWaiting === false) await this.#executeAt(batch, run.position);
        batch.park();
      });
    } catch (error) {
      if (run === null || isUnavailability(error)) throw error;
      await this.#setAside(version, run, error);
      const setAside = pace.setAside + 1;
      this.#paces.set(version.versionId, { runs: 1, setAside });
      if (setAside >= MAX_IN_A_ROW) throw error;
      return true;
    }
    this.#grow(version, pace);
    return run !== null;
  }

  /** Claims a batch, works on it and saves it. Null when nothing is due, or the automation is not ACTIVE. */
  #transact(
    { scope, versionId }: DueVersion,
    limit: number,
    work: (batch: StepBatch) => Promise<void>,
  ): Promise<StepBatch | null> {
    return this.database.transaction(scope, async () => {
      const batch = await this.runs.claim(scope, versionId, limit, this.clock.now());
      if (batch === null) return null;
      await work(batch);
      await this.runs.save(batch);
      return batch;
    });
  }

  /** Executes the step for all runs that are at it. */
  async #executeAt(batch: StepBatch, place: number): Promise<void> {
    const step = batch.plan.steps[place];
    const runs = batch.runsAt(place);
    if (step === undefined || runs.length === 0) return;
    batch.apply(place, await this.executor.execute(step, runs, batch));
  }

  #grow({ versionId }: DueVersion, { runs }: Pace): void {
    if (runs * 2 >= BATCH) this.#paces.delete(versionId);
    else this.#paces.set(versionId, { runs: runs * 2, setAside: 0 });
  }

  /** Postpones a run whose step fails; after the last try the run fails. Skips a run that has moved meanwhile. */
  async #setAside({ scope, versionId }: DueVersion, run: ClaimedRun, error: unknown): Promise<void> {
    const plan = await this.plans.of(scope, versionId);
    const reason = describeError(error);
    await this.database.transaction(scope, async () => {
      if (!(await holdSteps(this.database, plan))) return;
      const failures = await this.runs.lockDue(scope, run);
      if (failures === null) return;
      const failure = { attempts: failures + 1, reason };
      const hasFailed = await this.runs.setAside(scope, run, failure, this.clock.now());
      const { automationId } = plan;
      const fields = { automationId, run: run.id, failures: failure.attempts, hasFailed, error: reason };
      this.logger.error(fields, 'a step of an automation failed');
    });
  }
}
