import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import { TopicsQuery } from '#audience';
import { NotFoundError, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import type { AutomationState, AutomationStatus } from './automation.js';
import { automationColumns, isAutomation } from './automation.repository.js';

export interface AutomationView extends Omit<
  AutomationState,
  'number' | 'versionId' | 'isRevised' | 'isClosing'
> {
  readonly triggerTopicName: string | null;
  readonly totalEntered: number;
  /** Through to the end or to a goal. */
  readonly totalCompleted: number;
  readonly currentlyActive: number;
}

export interface AutomationFilter {
  readonly status?: AutomationStatus | undefined;
}

type Row = Omit<AutomationView, 'triggerTopicName'>;

/** Who came in, got through and is inside, of an automation called `a`. */
const counts = sql`
  select coalesce(sum(c.entered), 0)::bigint as entered, coalesce(sum(c.completed), 0)::bigint as completed,
    coalesce(sum(c.entered - c.completed - c.ended), 0)::bigint as inside
  from messaging.automation_counters c where c.automation_number = a.number
`;

/** Reads automations with their counts. */
@Injectable()
export class AutomationsQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TopicsQuery) private readonly topics: TopicsQuery,
  ) {}

  /** Newest first. */
  page(
    scope: ProjectScope,
    { status }: AutomationFilter,
    { page, size }: PageRequest,
  ): Promise<Page<AutomationView>> {
    const where = sql`a.environment_id = ${scope.environmentId} and a.deleted_at is null
      ${status === undefined ? sql`` : sql`and a.status = ${status}`}`;
    return this.database.transaction(scope, async ({ db }) => {
      const rows = await select(
        db,
        sql`select a.* from messaging.automations a where ${where}
          order by a.created_at desc, a.id desc limit ${size} offset ${page * size}`,
      );
      const total = await sql<{ total: number }>`
        select count(*) as total from messaging.automations a where ${where}
      `.execute(db);
      return { items: await this.#named(scope, rows), totalElements: total.rows[0]?.total ?? 0 };
    });
  }

  /** Throws NotFoundError. */
  get(scope: ProjectScope, idOrKey: string): Promise<AutomationView> {
    const isWanted = isAutomation(idOrKey);
    if (isWanted === null) return Promise.reject(new NotFoundError());
    return this.database.transaction(scope, async ({ db }) => {
      const rows = await select(
        db,
        sql`select a.* from messaging.automations a where a.environment_id = ${scope.environmentId} and ${isWanted}`,
      );
      const [view] = await this.#named(scope, rows);
      if (view === undefined) throw new NotFoundError();
      return view;
    });
  }

  async #named(scope: ProjectScope, rows: readonly Row[]): Promise<AutomationView[]> {
    const topicIds = [...new Set(rows.flatMap(({ triggerTopicId }) => triggerTopicId ?? []))];
    const topics = await this.topics.named(scope, topicIds);
    const names = new Map(topics.map(({ id, name }) => [id, name]));
    return rows.map((row) => ({ ...row, triggerTopicName: names.get(row.triggerTopicId ?? '') ?? null }));
  }
}

async function select(db: Sql, wanted: RawBuilder<unknown>): Promise<readonly Row[]> {
  const { rows } = await sql<Row>`
    select ${automationColumns}, n.entered as "totalEntered", n.completed as "totalCompleted", n.inside as "currentlyActive"
    from (${wanted}) a cross join lateral (${counts}) n
    order by a.created_at desc, a.id desc
  `.execute(db);
  return rows;
}
