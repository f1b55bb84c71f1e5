import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, type Page, type PageRequest, type ProjectScope } from '#kernel';
import { Database, environmentOf, limitOf, ListOrder, neverJoined, totalOf } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { SegmentEvaluations } from './segment-evaluations.service.js';
import { endSets, prepareForRules } from './set-plans.query.js';
import { SegmentPredicates } from './segment-predicates.service.js';
import { SegmentsQuery } from './segments.query.js';

export interface SegmentMember {
  readonly subscriberId: string;
  readonly email: string;
  readonly firstName: string | null;
  readonly lastName: string | null;
  /** When the subscriber was added, or first matched the rules. */
  readonly addedAt: Date;
}

export interface SegmentPreview {
  readonly count: number;
  readonly sample: readonly SegmentMember[];
}

const LATEST_FIRST = new ListOrder([
  ['m.added_at', 'timestamptz'],
  ['m.subscriber_id', 'uuid'],
]);

const SAMPLE = 5;
/** Shorter than the time limit of a request. */
const PREVIEW_MS = '25000';

/** Reads the members of segments, and previews rules. */
@Injectable()
export class SegmentMembersQuery {
  constructor(
    private readonly database: Database,
    private readonly segments: SegmentsQuery,
    private readonly evaluations: SegmentEvaluations,
    private readonly predicates: SegmentPredicates,
    private readonly clock: Clock,
  ) {}

  /**
   * Latest additions first. The first page of a dynamic segment evaluates it, if that is quick; further pages show the same
   * evaluation. Throws NotFoundError.
   */
  async page(scope: ProjectScope, idOrKey: string, request: PageRequest): Promise<Page<SegmentMember>> {
    const { id, type } = await this.segments.get(scope, idOrKey);
    if (type === 'DYNAMIC' && !request.after && !request.page)
      await this.evaluations.evaluateQuickly(scope, id);
    return this.database.list(scope, async () => {
      const { rows } = await sql<Counted<SegmentMember>>`
        select ${totalOf(request, sql`coalesce(s.member_count, 0)`)} as total, p.* from audience.segments s
        left join (
          select b.id as subscriber_id, b.email, b.first_name, b.last_name, m.added_at, m.place
          from (
            select m.subscriber_id, m.added_at, ${LATEST_FIRST.place} as place from audience.segment_members m
            where m.environment_id = ${scope.environmentId} and m.segment_id = ${id} and ${LATEST_FIRST.isBehind(request)}
            order by ${LATEST_FIRST.by} ${limitOf(request)}
          ) m
          join audience.subscribers b on b.environment_id = ${scope.environmentId} and b.id = m.subscriber_id
        ) p on true
        where s.environment_id = ${scope.environmentId} and s.id = ${id}
        order by p.added_at desc, p.subscriber_id desc
      `.execute(this.database.tables());
      return countedPage(rows, request);
    });
  }

  /** Counts the subscribers who match rules now, with the newest few of them. Throws DomainValidationError. */
  preview(scope: ProjectScope, rules: string): Promise<SegmentPreview> {
    return this.database.transaction(scope, async () => {
      const now = this.clock.now();
      const predicate = await this.predicates.ofRules(
        scope,
        await this.predicates.read(scope, rules, null),
        now,
      );
      await prepareForRules(this.database, scope, predicate);
      await sql`select set_config('statement_timeout', ${PREVIEW_MS}, true)`.execute(this.database.tables());
      const { rows } = await sql<Counted<SegmentMember>>`
        with matching as materialized (
          select b.id, b.created_at from audience.scoped_subscribers b
          where b.environment_id = ${scope.environmentId} and ${predicate}
        )
        select n.total, p.subscriber_id, p.email, p.first_name, p.last_name, p.added_at, p.place
        from (select count(*) as total from matching) n
        left join (
          select m.id as subscriber_id, b.email, b.first_name, b.last_name, ${now}::timestamptz as added_at,
            m.created_at, json_build_array(m.id) as place
          from (select id, created_at from matching order by created_at desc, id desc limit ${SAMPLE}) m
          cross join lateral (
            select email, first_name, last_name from audience.subscribers
            where environment_id = ${environmentOf(scope)} and id = m.id ${neverJoined}
          ) b
        ) p on true
        order by p.created_at desc, p.subscriber_id desc
      `.execute(this.database.tables());
      await endSets(this.database);
      const { items, totalElements } = countedPage(rows, { size: SAMPLE });
      return { count: totalElements, sample: items };
    });
  }
}
