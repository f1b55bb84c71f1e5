import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { RecipientsQuery } from '#audience';
import { Clock, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import { AutomationsQuery } from '../automations.query.js';
import { VersionPlans } from './version-plans.service.js';
import type { VersionPlan } from '../nodes/version-plan.js';
import type { RunStatus } from './step-batch.js';

/** How a step went, or that the person is at it: waiting, or as long as somebody outside is called. */
export const EXECUTION_STEP_STATUSES = ['DONE', 'SKIPPED', 'FAILED', 'WAITING'] as const;

export interface ExecutionStep {
  readonly nodeId: string;
  readonly status: (typeof EXECUTION_STEP_STATUSES)[number];
  readonly at: Date;
  readonly detail: string | null;
}

/** One person's way through an automation. */
export interface Execution {
  readonly id: string;
  /** Null when the person was erased. */
  readonly email: string | null;
  readonly status: RunStatus;
  /** Null when it has ended. */
  readonly currentNodeId: string | null;
  readonly enteredAt: Date;
  readonly completedAt: Date | null;
  readonly steps: readonly ExecutionStep[];
}

interface RunRow {
  readonly id: string;
  readonly versionId: number;
  readonly subscriberId: string | null;
  readonly position: number;
  readonly isWaiting: boolean;
  readonly status: RunStatus;
  readonly enteredAt: Date;
  readonly finishedAt: Date | null;
}

interface StepRow {
  readonly runId: string;
  readonly place: number;
  readonly status: 'DONE' | 'SKIPPED' | 'FAILED';
  readonly at: Date;
  readonly detail: string | null;
}

/** Reads who went through an automation, and how. */
@Injectable()
export class ExecutionsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(AutomationsQuery) private readonly automations: AutomationsQuery,
    @Inject(VersionPlans) private readonly plans: VersionPlans,
    @Inject(RecipientsQuery) private readonly recipients: RecipientsQuery,
    @Inject(Clock) private readonly clock: Clock,
  ) {}

  /** Who came in last comes first. Throws NotFoundError. */
  page(scope: ProjectScope, idOrKey: string, request: PageRequest): Promise<Page<Execution>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { id, totalEntered } = await this.automations.get(scope, idOrKey);
      const runs = await readRuns(db, scope, id, request);
      const steps = Map.groupBy(await readSteps(db, scope, runs), ({ runId }) => runId);
      const subscriberIds = runs.flatMap(({ subscriberId }) => subscriberId ?? []);
      const people = await this.recipients.lookUp(scope, [], subscriberIds, this.clock.now());
      const items = await Promise.all(
        runs.map(async (run) => ({
          ...executionOf(run, steps.get(run.id) ?? [], await this.plans.of(scope, run.versionId)),
          email: people.get(run.subscriberId ?? '')?.email ?? null,
        })),
      );
      return { items, totalElements: totalEntered };
    });
  }
}

async function readRuns(
  db: Sql,
  { environmentId }: ProjectScope,
  automationId: string,
  { page, size }: PageRequest,
): Promise<readonly RunRow[]> {
  // The ids sort by time.
  const { rows } = await sql<RunRow>`
    select r.id, r.version_id as "versionId", r.subscriber_id as "subscriberId", r.position, r.is_waiting as "isWaiting",
      r.status, r.entered_at as "enteredAt", r.finished_at as "finishedAt"
    from messaging.automation_runs r
    where r.environment_id = ${environmentId}
      and r.automation_number = (select number from messaging.automations where id = ${automationId})
    order by r.id desc limit ${size} offset ${page * size}
  `.execute(db);
  return rows;
}

async function readSteps(
  db: Sql,
  { environmentId }: ProjectScope,
  runs: readonly RunRow[],
): Promise<readonly StepRow[]> {
  if (runs.length === 0) return [];
  const days = [...new Set(runs.map(({ enteredAt }) => enteredAt.toISOString().slice(0, 10)))];
  const { rows } = await sql<StepRow>`
    select s.run_id as "runId", s.position as place, s.status, s.at, s.detail from messaging.automation_steps s
    where s.environment_id = ${environmentId} and s.run_id = any(${runs.map(({ id }) => id)}::uuid[])
      and s.entered_on = any(${days}::date[])
  `.execute(db);
  return rows;
}

function executionOf(
  run: RunRow,
  rows: readonly StepRow[],
  { steps, order }: VersionPlan,
): Omit<Execution, 'email'> {
  const isThere = (place: number) => run.status === 'ACTIVE' && run.position === place;
  const rank = new Map(order.map((place, index) => [place, index]));
  const taken = rows.toSorted((a, b) => (rank.get(a.place) ?? 0) - (rank.get(b.place) ?? 0));
  return {
    id: run.id,
    status: run.status,
    currentNodeId: run.status === 'ACTIVE' ? (steps[run.position]?.id ?? null) : null,
    enteredAt: run.enteredAt,
    completedAt: run.finishedAt,
    steps: taken.map(({ place, status, at, detail }) => ({
      nodeId: steps[place]?.id ?? '',
      status: isThere(place) ? 'WAITING' : status,
      at,
      detail,
    })),
  };
}
