import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Clock, DomainValidationError, type EmailAddress, NotFoundError, type ProjectScope } from '#kernel';
import { Database } from '#platform';
import { TRIGGERS_CHANNEL } from '../triggers.service.js';
import { SegmentRepository } from './segment.repository.js';
import { SegmentsQuery } from './segments.query.js';

/** Subscribers by their ids, by their addresses, or both. */
export interface NamedSubscribers {
  readonly subscriberIds?: readonly string[] | undefined;
  readonly emails?: readonly Pick<EmailAddress, 'key'>[] | undefined;
}

type Change = 'ENTERED' | 'LEFT';

/** Adds people to static segments and removes them. */
@Injectable()
export class SegmentMembersService {
  constructor(
    private readonly database: Database,
    private readonly query: SegmentsQuery,
    private readonly segments: SegmentRepository,
    private readonly clock: Clock,
  ) {}

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
  return Object.fromEntries(
    wanted.flatMap((each, index) =>
      known.has(each) ? [] : [[`${field}[${index}]`, 'is not a known subscriber']],
    ),
  );
}
