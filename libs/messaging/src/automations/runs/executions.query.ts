import { Injectable } from '@nestjs/common';
import type { Selectable } from 'kysely';
import { RecipientsQuery } from '#audience';
import { Clock, type Page, pageOfRows, type PageRequest, type Place, type ProjectScope } from '#kernel';
import { Database, ListOrder } from '#platform';
import type { MessagingTables } from '../../messaging-tables.js';
import { AutomationsQuery } from '../automations.query.js';
import type { RunStatus } from '../automation.js';
import { type VersionPlan, VersionPlansQuery } from './version-plans.query.js';

/** The outcome of a step; WAITING while the run is at it. */
export const EXECUTION_STEP_STATUSES = ['DONE', 'SKIPPED', 'FAILED', 'WAITING'] as const;

export interface ExecutionStep {
  readonly nodeId: string;
  readonly status: (typeof EXECUTION_STEP_STATUSES)[number];
  readonly at: Date;
  readonly detail: string | null;
}

/** One subscriber's run through an automation. */
export interface Execution {
  readonly id: string;
  /** Null when the subscriber was erased. */
  readonly email: string | null;
  readonly status: RunStatus;
  /** Null when it has ended. */
  readonly currentNodeId: string | null;
  readonly enteredAt: Date;
  readonly completedAt: Date | null;
  readonly steps: readonly ExecutionStep[];
}

const RUN = ['id', 'versionId', 'subscriberId', 'position', 'status', 'enteredAt', 'finishedAt'] as const;
type RunRow = Pick<Selectable<MessagingTables['messaging.automation_runs']>, (typeof RUN)[number]>;

/** Ids sort by time. */
const LATEST_FIRST = new ListOrder([['id', 'uuid']]);

const STEP = ['runId', 'position', 'status', 'at', 'detail'] as const;
type StepRow = Pick<Selectable<MessagingTables['messaging.automation_steps']>, (typeof STEP)[number]>;

/** Reads the runs of an automation with their steps. */
@Injectable()
export class ExecutionsQuery {
  constructor(
    private readonly database: Database,
    private readonly automations: AutomationsQuery,
    private readonly plans: VersionPlansQuery,
    private readonly recipients: RecipientsQuery,
    private readonly clock: Clock,
  ) {}

  /** Newest first. Throws NotFoundError. */
  page(scope: ProjectScope, idOrKey: string, request: PageRequest): Promise<Page<Execution>> {
    return this.database.read(scope, { isList: true }, async () => {
      const { id, totalEntered } = await this.automations.get(scope, idOrKey);
      const runs: readonly (RunRow & { readonly place: Place })[] = await this.#runs(scope, id, request);
      const steps = Map.groupBy(await this.#steps(scope, runs), ({ runId }) => runId);
      const subscriberIds = runs.flatMap(({ subscriberId }) => subscriberId ?? []);
      const people = await this.recipients.lookUp(scope, [], subscriberIds, this.clock.now());
      const items = await Promise.all(
        runs.map(async (run) => ({
          ...executionOf(run, steps.get(run.id) ?? [], await this.plans.of(scope, run.versionId)),
          place: run.place,
          email: people.get(run.subscriberId ?? '')?.email ?? null,
        })),
      );
      return pageOfRows(items, request, totalEntered);
    });
  }

  #runs({ environmentId }: ProjectScope, automationId: string, request: PageRequest) {
    const runs = this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.automation_runs')
      .select(RUN)
      .where('environmentId', '=', environmentId)
      .where('automationNumber', '=', (eb) =>
        eb
          .selectFrom('messaging.automations')
          .select('number')
          .where('environmentId', '=', environmentId)
          .where('id', '=', automationId),
      );
    return LATEST_FIRST.rows(runs, request);
  }

  async #steps({ environmentId }: ProjectScope, runs: readonly RunRow[]): Promise<StepRow[]> {
    if (runs.length === 0) return [];
    const days = [...new Set(runs.map(({ enteredAt }) => enteredAt.toISOString().slice(0, 10)))];
    return this.database
      .tables<MessagingTables>()
      .selectFrom('messaging.automation_steps')
      .select(STEP)
      .where('environmentId', '=', environmentId)
      .where(
        'runId',
        'in',
        runs.map(({ id }) => id),
      )
      .where('enteredOn', 'in', days)
      .execute();
  }
}

function executionOf(
  run: RunRow,
  rows: readonly StepRow[],
  { steps, order }: VersionPlan,
): Omit<Execution, 'email'> {
  const isThere = (place: number) => run.status === 'ACTIVE' && run.position === place;
  const rank = new Map(order.map((place, index) => [place, index]));
  const taken = rows.toSorted((a, b) => (rank.get(a.position) ?? 0) - (rank.get(b.position) ?? 0));
  return {
    id: run.id,
    status: run.status,
    currentNodeId: run.status === 'ACTIVE' ? (steps[run.position]?.id ?? null) : null,
    enteredAt: run.enteredAt,
    completedAt: run.finishedAt,
    steps: taken.map(({ position, status, at, detail }) => ({
      nodeId: steps[position]?.id ?? '',
      status: isThere(position) ? 'WAITING' : status,
      at,
      detail,
    })),
  };
}
