import { createHash } from 'node:crypto';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  type ConsentOutcomes,
  ConsentsService,
  durationAfter,
  FieldUpdatesService,
  type Recipient,
  RecipientsQuery,
  SegmentMembersService,
  SegmentsQuery,
  SubscriberRulesService,
  WaitsService,
} from '#audience';
import { EmailQuotaService } from '#billing';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { FromAddressesService } from '../../campaigns/from-addresses.service.js';
import type { MergeTemplate } from '../../content/merge/merge-template.js';
import { subscriberValues } from '../../content/merge/merge-values.js';
import { wakeSenders } from '../../deliveries/delivery-queue.query.js';
import type { NodeType } from '../graph/automation-graph.js';
import { delayDetail, delayEnd } from '../graph/delay.js';
import { valueOfRun } from '../graph/update-field.js';
import { eventsOf } from './run.repository.js';
import { type ClaimedRun, cameAt, isBack, onwards, type StepResult } from './step-batch.js';
import type { PlannedStep, VersionPlan } from './version-plans.query.js';

/** When the plan's e-mails of the month are used up, the step is tried again after this time. */
const QUOTA_RETRY_MS = 15 * 60_000;

/** A reader may end a pause at any time: it is looked at again after this time at the latest. */
const PAUSE_RETRY_MS = 60 * 60_000;

/** A change of what a mail shows waits for the mail: it is tried again after as long as the mail has waited, within these bounds. */
const MAIL_RETRY_MS = { least: 1000, most: 10 * 60_000 };
/** It waits no longer: the mail has been put off by its server for as long. */
const MAIL_PATIENCE_MS = 24 * 60 * 60_000;

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
    topic_action: (step, runs, context) =>
      step.config.action === 'subscribe'
        ? this.#changeConsents(step, runs, context)
        : this.#behindMails(runs, context, (rest) => this.#changeConsents(step, rest, context)),
    segment_action: (step, runs, context) => this.#changeSegment(step, runs, context),
    update_field: (step, runs, context) =>
      this.#behindMails(runs, context, (rest) => this.#updateField(step, rest, context)),
    wait_for: (step, runs, context) => this.#waitFor(step, runs, context),
  };

  constructor(
    private readonly database: Database,
    private readonly rules: SubscriberRulesService,
    private readonly consents: ConsentsService,
    private readonly segments: SegmentsQuery,
    private readonly members: SegmentMembersService,
    private readonly fields: FieldUpdatesService,
    private readonly waits: WaitsService,
    private readonly recipients: RecipientsQuery,
    private readonly fromAddresses: FromAddressesService,
    private readonly quota: EmailQuotaService,
  ) {}

  /** One result for each run, in the same order: those that `exitWhen` holds for begin no further step. */
  async executeUnlessLeaving(
    step: PlannedStep,
    runs: readonly ClaimedRun[],
    context: StepContext,
  ): Promise<Results> {
    const { exitWhen } = context.plan.trigger.config;
    if (exitWhen === null || step.type === 'trigger') return await this.#execute(step, runs, context);
    const beginning = runs.filter((run) => !isBack(run, step.place));
    const leaving = await this.#holding(exitWhen, beginning, context);
    const staying = runs.filter((run) => isBack(run, step.place) || !leaving.has(run.subscriberId));
    const results = staying.length === 0 ? [] : await this.#execute(step, staying, context);
    return merged(runs, staying, results, () => ({ kind: 'exit', detail: 'exitWhen holds' }));
  }

  async #execute<Type extends NodeType>(
    step: PlannedStep<Type>,
    runs: readonly ClaimedRun[],
    context: StepContext,
  ): Promise<Results> {
    const execute: Executor<Type> = this.#executors[step.type];
    return execute(step, runs, context);
  }

  async #holding(
    rules: string,
    runs: readonly ClaimedRun[],
    { plan, now }: StepContext,
  ): Promise<ReadonlySet<string>> {
    if (runs.length === 0) return new Set();
    return this.rules.holdingFor(plan.scope, rules, idsOf(runs), now);
  }

  /**
   * Executes a step that changes what mails show, or whether they may go out, for the runs whose own mails have left. The others try
   * again: a mail is composed when it leaves.
   */
  async #behindMails(
    runs: readonly ClaimedRun[],
    { plan, now }: StepContext,
    execute: (runs: readonly ClaimedRun[]) => Promise<Results>,
  ): Promise<Results> {
    if (!plan.steps.some(({ type }) => type === 'email')) return execute(runs);
    const since = new Date(now.getTime() - MAIL_PATIENCE_MS);
    const { rows } = await sql<{ runId: string; waits: number }>`
      /* open_mails_of_runs */ select r.run_id, extract(epoch from ${now} - m.created_at)::float8 * 1000 as waits
      from unnest(${runs.map(({ id }) => id)}::uuid[], ${idsOf(runs)}::uuid[]) r(run_id, subscriber_id)
      cross join lateral (
        select min(d.created_at) as created_at from messaging.deliveries d
        where d.environment_id = ${plan.scope.environmentId} and d.subscriber_id = r.subscriber_id and d.kind = 'AUTOMATION'
          and d.queued_on >= (${since}::timestamptz at time zone 'UTC')::date and d.created_at > ${since}
          and d.single_ended_at is null and messaging.run_of_step(d.source_id) = r.run_id
      ) m
      where m.created_at is not null
    `.execute(this.database.tables());
    const waits = new Map(rows.map((row) => [row.runId, row.waits]));
    const rest = runs.filter(({ id }) => !waits.has(id));
    const results = rest.length === 0 ? [] : await execute(rest);
    return merged(runs, rest, results, ({ id }) => {
      const wait = Math.min(Math.max(waits.get(id) ?? 0, MAIL_RETRY_MS.least), MAIL_RETRY_MS.most);
      return { kind: 'postpone', until: new Date(now.getTime() + wait) };
    });
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
   * Lets runs wait, unless the rules hold already; and those go on that have waited: it happened, it turns out now that it did, or it
   * is too late for it.
   */
  async #waitFor(
    { config: { awaited, timeout }, place }: PlannedStep<'wait_for'>,
    runs: readonly ClaimedRun[],
    context: StepContext,
  ): Promise<Results> {
    const { plan, now } = context;
    const waitId = plan.waitIds[place];
    if (waitId == null) throw new Error('The step has nothing to wait for.');
    // A run is told of its own node, not of one behind it.
    const wasTold = (run: ClaimedRun) => run.hasHappened && isBack(run, place);
    const open = runs.filter((run) => !wasTold(run));
    const holding =
      'rules' in awaited ? await this.#holding(awaited.rules, open, context) : new Set<string>();
    const [back, beginning] = [true, false].map((wanted) =>
      open.filter((run) => isBack(run, place) === wanted),
    );
    const fulfilled = await this.waits.end(plan.scope, waitId, back!);
    const waiting = beginning!.filter(({ subscriberId }) => !holding.has(subscriberId));
    const happened = await this.waits.begin(
      plan.scope,
      waitId,
      waiting.map((run) => ({ ...run, since: cameAt(run, place, plan) })),
    );
    const until = durationAfter(now, timeout);
    return runs.map((run) => {
      const isTold = wasTold(run) || fulfilled.has(run.id) || happened.has(run.id);
      const hasHappened = isTold || holding.has(run.subscriberId);
      const branch = hasHappened ? 'happened' : 'timeout';
      if (isBack(run, place)) return { kind: 'resume', branch };
      if (hasHappened) return onwards(branch, 'DONE', branch);
      return { kind: 'wait', until, detail: delayDetail(until) };
    });
  }

  /** Sets the field of those whose value can be told and fits; the step of the others has failed, and they go on. */
  async #updateField(
    { config: { key, value, template } }: PlannedStep<'update_field'>,
    runs: readonly ClaimedRun[],
    context: StepContext,
  ): Promise<Results> {
    const ownValues = template === null ? null : await this.#ownValues(template, runs, context);
    const results = new Map<string, StepResult>();
    // Somebody who is inside several times at once gets one value after the other.
    for (const round of onePerPerson(runs)) {
      const inputs = new Map<string, unknown>();
      for (const { id, subscriberId } of round) {
        const own = ownValues === null ? { value } : ownValues.get(id);
        if (own !== undefined && 'fault' in own) results.set(id, onwards(`${key}: ${own.fault}`, 'FAILED'));
        else if (own !== undefined) inputs.set(subscriberId, own.value);
      }
      const { scope, automationId } = context.plan;
      const by = { actor: 'AUTOMATION', actorId: automationId } as const;
      const outcomes = await this.fields.update(scope, key, inputs, by, context.now);
      for (const { id, subscriberId } of round) {
        const outcome = outcomes.get(subscriberId);
        if (results.has(id)) continue;
        else if (outcome === undefined) results.set(id, onwards('erased', 'SKIPPED'));
        else if (typeof outcome === 'string') results.set(id, onwards(outcome));
        else results.set(id, onwards(`${key} ${outcome.fault}`, 'FAILED'));
      }
    }
    return runs.map(({ id }) => results.get(id)!);
  }

  /** Each run's value for a field, without the runs of erased subscribers. */
  async #ownValues(
    template: MergeTemplate,
    runs: readonly ClaimedRun[],
    { plan: { scope }, now }: StepContext,
  ): Promise<ReadonlyMap<string, ReturnType<typeof valueOfRun>>> {
    const people = await this.recipients.lookUp(scope, [], idsOf(runs), now);
    const events = await eventsOf(this.database, scope, runs);
    return new Map(
      runs.flatMap(({ id, subscriberId }) => {
        const person = people.get(subscriberId);
        if (person === undefined) return [];
        const subscriber = subscriberValues(person);
        const values = { subscriber, custom: person.customFields, event: events.get(id) ?? {} };
        return [[id, valueOfRun(template, values)] as const];
      }),
    );
  }

  /**
   * Creates one delivery for each run; its `source_id` leads to the run and the step. Subscribers who may get no mail skip
   * the step; those who have paused mail wait. Live mail counts against the plan when its delivery is created.
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
    const soon = now.getTime() + PAUSE_RETRY_MS;
    return runs.map((run) => {
      const recipient = found.get(run.subscriberId);
      if (recipient === undefined) return onwards('erased', 'SKIPPED');
      if (recipient.obstacle === 'paused') {
        const end = recipient.pausedUntil?.getTime() ?? soon;
        return { kind: 'postpone', until: new Date(Math.min(end, soon)) };
      }
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

/** The results of these runs in the order of all, with a result of its own for each of the others. */
function merged(
  all: readonly ClaimedRun[],
  some: readonly ClaimedRun[],
  results: Results,
  ofOther: (run: ClaimedRun) => StepResult,
): Results {
  const byRun = new Map(some.map(({ id }, index) => [id, results[index]!]));
  return all.map((run) => byRun.get(run.id) ?? ofOther(run));
}

const idsOf = (runs: readonly ClaimedRun[]): string[] => runs.map(({ subscriberId }) => subscriberId);

/** The runs in rounds, none of which has somebody twice. */
function onePerPerson(runs: readonly ClaimedRun[]): readonly (readonly ClaimedRun[])[] {
  const rounds: ClaimedRun[][] = [];
  for (const ofOne of Map.groupBy(runs, ({ subscriberId }) => subscriberId).values())
    for (const [round, run] of ofOne.entries()) (rounds[round] ??= []).push(run);
  return rounds;
}

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
