import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import {
  Clock,
  DomainValidationError,
  type EmailAddress,
  NotFoundError,
  type Page,
  type PageRequest,
  type ProjectScope,
} from '#kernel';
import { Database, limitOf, ListOrder, neverJoined, totalOf } from '#platform';
import { type Counted, countedPage } from '../counted-page.js';
import { plannedForRules } from '../rules/set-plans.query.js';
import { SubscriberRulesService } from '../rules/subscriber-rules.service.js';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';
import { SegmentEvaluationsService } from './segment-evaluations.service.js';
import { SegmentRepository } from './segment.repository.js';
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

/** Subscribers by their ids, by their addresses, or both. */
export interface NamedSubscribers {
  readonly subscriberIds?: readonly string[] | undefined;
  readonly emails?: readonly Pick<EmailAddress, 'key'>[] | undefined;
}

type Change = 'ENTERED' | 'LEFT';

/** Reads the members of segments, previews rules, and adds people to static segments or removes them. */
@Injectable()
export class SegmentMembersService {
  constructor(
    private readonly database: Database,
    private readonly query: SegmentsQuery,
    private readonly segments: SegmentRepository,
    private readonly evaluations: SegmentEvaluationsService,
    private readonly rules: SubscriberRulesService,
    private readonly clock: Clock,
  ) {}

  /**
   * Latest additions first. The first page of a dynamic segment evaluates it, if that is quick; further pages show the same
   * evaluation. Throws NotFoundError.
   */
  async page(scope: ProjectScope, idOrKey: string, request: PageRequest): Promise<Page<SegmentMember>> {
    const { id, type } = await this.query.get(scope, idOrKey);
    if (type === 'DYNAMIC' && !request.after && !request.page)
      await this.evaluations.evaluateQuickly(scope, id);
    return this.database.read(scope, { isList: true }, async () => {
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
      const predicate = await this.rules.ofRules(scope, await this.rules.read(scope, rules, null), now);
      await sql`select set_config('statement_timeout', ${PREVIEW_MS}, true)`.execute(this.database.tables());
      const counted = sql<Counted<SegmentMember>>`
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
            where environment_id = ${scope.environmentId} and id = m.id ${neverJoined}
          ) b
        ) p on true
        order by p.created_at desc, p.subscriber_id desc
      `;
      const { rows } = await plannedForRules(this.database, scope, predicate, () =>
        counted.execute(this.database.tables()),
      );
      const { items, totalElements } = countedPage(rows, { size: SAMPLE });
      return { count: totalElements, sample: items };
    });
  }

  /** Existing members do not change. Throws NotFoundError, DomainValidationError. */
  add(scope: ProjectScope, idOrKey: string, people: NamedSubscribers): Promise<void> {
    return this.#change(scope, idOrKey, people, 'ENTERED');
  }

  /** Ignores people who are not members. Throws NotFoundError, DomainValidationError. */
  remove(scope: ProjectScope, idOrKey: string, people: NamedSubscribers): Promise<void> {
    return this.#change(scope, idOrKey, people, 'LEFT');
  }

  #change(scope: ProjectScope, idOrKey: string, people: NamedSubscribers, change: Change): Promise<void> {
    return this.database.transaction(scope, async () => {
      const { id, type } = await this.query.get(scope, idOrKey);
      if (type === 'DYNAMIC') throw notByHand(people);
      // Locked before the segment, as when a subscriber is erased with its memberships.
      const subscriberIds = await this.#lockSubscribers(scope, people);
      if ((await this.segments.lock(scope, id)) === null) throw new NotFoundError();
      await this.#write(scope, id, subscriberIds, change);
    });
  }

  /** Throws DomainValidationError for unknown subscribers. */
  async #lockSubscribers(
    scope: ProjectScope,
    { subscriberIds = [], emails = [] }: NamedSubscribers,
  ): Promise<readonly string[]> {
    const ids = subscriberIds.map((id) => id.toLowerCase());
    const keys = emails.map(({ key }) => key);
    const { rows } = await sql<{ id: string; key: string }>`
      select b.id, b.email_key as key from audience.subscribers b
      where b.environment_id = ${scope.environmentId}
        and (b.id = any(${ids}::uuid[]) or b.email_key = any(${keys}::text[]))
      order by b.id for key share
    `.execute(this.database.tables());
    const known = new Set(rows.flatMap(({ id, key }) => [id, key]));
    const errors = { ...unknown('subscriberIds', ids, known), ...unknown('emails', keys, known) };
    if (Object.keys(errors).length > 0) throw new DomainValidationError(errors);
    return rows.map(({ id }) => id);
  }

  /** Writes members, count, and entries or exits, in one statement. */
  async #write(
    { environmentId }: ProjectScope,
    segmentId: string,
    subscriberIds: readonly string[],
    change: Change,
  ): Promise<void> {
    const at = this.clock.now();
    const ids = sql`${[...subscriberIds]}::uuid[]`;
    const changed =
      change === 'ENTERED'
        ? sql`insert into audience.segment_members (subscriber_id, segment_id, environment_id, added_at)
            select id, ${segmentId}, ${environmentId}, ${at} from unnest(${ids}) as person(id)
            on conflict do nothing returning subscriber_id`
        : sql`delete from audience.segment_members
            where environment_id = ${environmentId} and segment_id = ${segmentId} and subscriber_id = any(${ids})
            returning subscriber_id`;
    await sql`
      with changed as (${changed}), noted as (
        insert into audience.segment_transitions (environment_id, segment_id, subscriber_id, kind, occurred_at)
        select ${environmentId}, ${segmentId}, subscriber_id, ${change}, ${at} from changed
        returning position
      )
      update audience.segments
      set member_count = member_count ${change === 'ENTERED' ? sql`+` : sql`-`} (select count(*) from changed)
      where environment_id = ${environmentId} and id = ${segmentId}
    `.execute(this.database.tables());
    this.database.notify(TRIGGERS_CHANNEL);
  }
}

function notByHand({ subscriberIds }: NamedSubscribers): DomainValidationError {
  const field = subscriberIds === undefined ? 'emails' : 'subscriberIds';
  return new DomainValidationError({
    [field]: 'cannot be added to or removed from a DYNAMIC segment, whose members follow from its rules',
  });
}

function unknown(
  field: string,
  wanted: readonly string[],
  known: ReadonlySet<string>,
): Record<string, string> {
  const missing = wanted.flatMap((each, index) => (known.has(each) ? [] : [index]));
  return Object.fromEntries(missing.map((index) => [`${field}[${index}]`, 'is not a known subscriber']));
}
