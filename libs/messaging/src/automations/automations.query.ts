import { Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { TopicsQuery } from '#audience';
import {
  NotFoundError,
  offsetOf,
  type Page,
  pageOfRows,
  type PageRequest,
  type Place,
  type ProjectScope,
} from '#kernel';
import { countOf, Database, NEWEST_FIRST } from '#platform';
import type { Automation, AutomationFields, AutomationStatus, AutomationWarning } from './automation.js';
import { automationOf, automationsOf } from './automation.repository.js';

type Fields = 'id' | 'automationKey' | 'status' | 'nodes' | 'edges' | 'nodeCount' | 'createdAt' | 'updatedAt';

export interface AutomationView extends AutomationFields, Pick<Automation, Fields> {
  readonly triggerTopicName: string | null;
  readonly totalEntered: number;
  /** Runs that reached the end or a goal. */
  readonly totalCompleted: number;
  readonly currentlyActive: number;
  /** Content that its mails lose; set in answers to new steps and activations. */
  readonly warnings: readonly AutomationWarning[];
}

export interface AutomationFilter {
  readonly status?: AutomationStatus | undefined;
}

/** A counter of an automation that differs from its runs. */
export interface AutomationDiscrepancy {
  readonly automationId: string;
  readonly counter: 'entered' | 'completed' | 'ended';
  readonly counted: number;
  /** Counted from the runs. */
  readonly actual: number;
}

type Row = Omit<AutomationView, 'triggerTopicName' | 'warnings'> & { readonly place: Place };

/** Reads automations with their counts. */
@Injectable()
export class AutomationsQuery {
  constructor(
    private readonly database: Database,
    private readonly topics: TopicsQuery,
  ) {}

  /** Newest first. */
  page(
    scope: ProjectScope,
    { status }: AutomationFilter,
    request: PageRequest,
  ): Promise<Page<AutomationView>> {
    return this.database.read(scope, { isList: true }, async () => {
      const matching = automationsOf(this.database.tables(), scope).$if(status !== undefined, (all) =>
        all.where('status', '=', status!),
      );
      const wanted = matching.selectAll().where(NEWEST_FIRST.isBehind(request)).orderBy(NEWEST_FIRST.by);
      const views = await this.#views(
        scope,
        sql`(${wanted.limit(request.size + 1).offset(offsetOf(request))})`,
      );
      return pageOfRows(views, request, request.after?.totalElements ?? (await countOf(matching)));
    });
  }

  /** Throws NotFoundError. */
  get(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    return this.database.transaction(scope, async () => {
      const wanted = automationOf(this.database.tables(), scope, idOrKey)?.selectAll();
      const [view] = wanted === undefined ? [] : await this.#views(scope, sql`${wanted}`);
      if (view === undefined) throw new NotFoundError();
      const { place: _place, ...automation } = view;
      return automation;
    });
  }

  /** Counters of all projects that differ from their runs. Reads all runs, in one snapshot. */
  discrepancies(): Promise<readonly AutomationDiscrepancy[]> {
    return this.database.system(async () => {
      const { rows } = await sql<AutomationDiscrepancy>`
        with counted as (
          select environment_id, automation_number as number, sum(entered)::bigint as entered,
            sum(completed)::bigint as completed, sum(ended)::bigint as ended
          from messaging.automation_counters group by environment_id, automation_number
        ), actual as (
          select environment_id, automation_number as number, count(*) as entered,
            count(*) filter (where status in ('COMPLETED', 'CONVERTED')) as completed,
            count(*) filter (where status in ('FAILED', 'CANCELLED')) as ended
          from messaging.automation_runs group by environment_id, automation_number
        )
        select m.id as automation_id, v.counter, v.counted, v.actual
        from counted c full join actual a using (environment_id, number)
        join messaging.automations m using (environment_id, number)
        cross join lateral (values
          ('entered', coalesce(c.entered, 0), coalesce(a.entered, 0)),
          ('completed', coalesce(c.completed, 0), coalesce(a.completed, 0)),
          ('ended', coalesce(c.ended, 0), coalesce(a.ended, 0))
        ) v(counter, counted, actual)
        where v.counted <> v.actual order by 1, 2
      `.execute(this.database.tables());
      return rows;
    });
  }

  /** `wanted` is in parentheses. Its counts are added laterally, an automation of the page at a time. */
  async #views(scope: ProjectScope, wanted: RawBuilder<unknown>) {
    const { rows } = await sql<Row>`
      select a.id, a.automation_key, a.name, a.description, a.status, a.trigger_type, a.trigger_topic_id, a.nodes, a.edges,
        a.node_count, a.created_at, a.updated_at, n.*, json_build_array(a.created_at, a.id) as place
      from ${wanted} a cross join lateral (
        select coalesce(sum(c.entered), 0)::bigint as total_entered,
          coalesce(sum(c.completed), 0)::bigint as total_completed,
          coalesce(sum(c.entered - c.completed - c.ended), 0)::bigint as currently_active
        from messaging.automation_counters c
        where c.automation_number = a.number and c.environment_id = ${scope.environmentId}
      ) n
      order by a.created_at desc, a.id desc
    `.execute(this.database.tables());
    const topicIds = [...new Set(rows.flatMap(({ triggerTopicId }) => triggerTopicId ?? []))];
    const topics = await this.topics.named(scope, topicIds);
    const names = new Map(topics.map(({ id, name }) => [id, name]));
    return rows.map((row) => {
      return { ...row, triggerTopicName: names.get(row.triggerTopicId ?? '') ?? null, warnings: [] };
    });
  }
}
