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

type Fields =
  | 'id'
  | 'automationKey'
  | 'metadata'
  | 'status'
  | 'nodes'
  | 'edges'
  | 'nodeCount'
  | 'createdAt'
  | 'updatedAt';

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

  /** `wanted` is in parentheses. Its counts are added laterally, an automation of the page at a time. */
  async #views(scope: ProjectScope, wanted: RawBuilder<unknown>) {
    const { rows } = await sql<Row>`
      select a.id, a.automation_key, a.name, a.description, a.status, a.trigger_type, a.trigger_topic_id, a.metadata, a.nodes, a.edges,
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
