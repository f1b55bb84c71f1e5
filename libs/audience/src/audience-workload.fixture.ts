import { sql } from 'kysely';
import { DomainError, type ProjectScope } from '#kernel';
import { address, type AudienceFixture, ConfirmationPages, HOUR, PROOF } from './audience.fixture.js';
import { type SuppressionReason } from './consents/consent.js';
import { ConsentRepository } from './consents/consent.repository.js';
import { CountersService } from './counters.service.js';
import { PersonalDataService } from './personal-data.service.js';
import { ConfirmationsService } from './sign-up/confirmations.service.js';
import { ConsentsService } from './sign-up/consents.service.js';
import { SubscribersService } from './subscribers/subscribers.service.js';
import { SuppressionsService } from './suppressions/suppressions.service.js';
import type { TopicView } from './topics/topics.query.js';

/** An environment with topics, alternately single and double opt-in. */
export interface Place {
  readonly scope: ProjectScope;
  readonly topics: readonly TopicView[];
}

export const COMMON_KINDS = ['create', 'grant', 'confirm', 'revoke', 'suppress', 'lift', 'rename'] as const;
export const RARE_KINDS = ['expire', 'erase', 'import', 'leave together', 'go together', 'fold'] as const;
export const TOPICS = 4;

/** An operation that changes counters. */
export interface Operation {
  readonly kind: (typeof COMMON_KINDS | typeof RARE_KINDS)[number];
  readonly person: number;
  /** Less than `TOPICS`. */
  readonly topic: number;
  readonly reason: SuppressionReason;
}

/** Changes the audience like clients, readers and imports. */
export class AudienceWorkload {
  #imports = 0;

  constructor(private readonly audience: AudienceFixture) {}

  /** The live and test environments of a new project. */
  async places(): Promise<readonly [Place, Place]> {
    const { live, test } = await this.audience.project();
    return [await this.#place(live), await this.#place(test)];
  }

  /** Ignores refusals; any other error fails. */
  async act(at: Place, operation: Operation): Promise<void> {
    try {
      await this.#actions[operation.kind](at, operation);
    } catch (error) {
      if (!(error instanceof DomainError)) throw error;
    }
  }

  async #place(scope: ProjectScope): Promise<Place> {
    const topics: TopicView[] = [];
    for (let index = 0; index < TOPICS; index += 1) {
      topics.push(await this.audience.topic(scope, { doubleOptInEnabled: index % 2 === 1 }));
    }
    return { scope, topics };
  }

  readonly #actions: Record<Operation['kind'], (at: Place, operation: Operation) => Promise<unknown>> = {
    create: ({ scope, topics }, { person, topic }) =>
      this.audience.subscribe(
        scope,
        emailOf(person),
        topics[topic]!,
        topics[(topic + 1 + (person % 2)) % TOPICS]!,
      ),
    grant: ({ scope, topics }, { person, topic }) =>
      this.audience
        .get(ConsentsService)
        .grant(scope, address(emailOf(person)), topics[topic]!.topicKey, PROOF),
    revoke: ({ scope, topics }, { person, topic }) =>
      this.audience
        .get(ConsentsService)
        .revoke(scope, address(emailOf(person)), topics[topic]!.topicKey, PROOF),
    suppress: ({ scope }, { person, reason }) =>
      this.audience.get(SuppressionsService).suppress(scope, address(emailOf(person)), reason, PROOF),
    lift: ({ scope }, { person }) =>
      this.audience.get(SuppressionsService).lift(scope, address(emailOf(person))),
    rename: ({ scope }, { person, topic }) =>
      this.audience
        .get(SubscribersService)
        .update(scope, address(emailOf(person)), { firstName: `Ada ${topic}` }, PROOF),
    erase: ({ scope }, { person }) =>
      this.audience.get(PersonalDataService).erase(scope, address(emailOf(person)), PROOF),
    confirm: (at, operation) => this.#confirm(at, operation),
    expire: async () => {
      this.audience.clock.advance(49 * HOUR);
      await this.audience.get(ConfirmationsService).expire();
    },
    import: (at, operation) => this.#import(at, operation),
    'leave together': (at, operation) => this.#leaveTogether(at, operation),
    'go together': ({ scope }, { person }) =>
      this.audience.database.transaction(scope, () =>
        sql`delete from audience.subscribers where email_key like ${`import-${person % 5}-%`}`.execute(
          this.audience.database.tables(),
        ),
      ),
    fold: () => this.audience.get(CountersService).fold({ perMark: 7 }),
  };

  async #confirm({ scope }: Place, { person }: Operation): Promise<void> {
    const [newest] = await this.audience.test.query<{ id: string }>(
      `select c.id from audience.confirmations c join audience.subscribers b
         on b.id = c.subscriber_id and b.environment_id = c.environment_id
       where b.environment_id = $1 and b.email_key = $2 order by c.created_at desc, c.id desc limit 1`,
      [scope.environmentId, emailOf(person)],
    );
    if (newest === undefined) return;
    const by = { ipAddress: '203.0.113.7', userAgent: null };
    await new ConfirmationPages(this.audience).confirm(scope, newest.id, by);
  }

  /** Thirty people in two statements, as an import writes them. */
  async #import({ scope, topics }: Place, { person }: Operation): Promise<void> {
    this.#imports += 1;
    const at = this.audience.clock.now();
    const like = `import-${person % 5}-${this.#imports}-`;
    await this.audience.database.transaction(scope, async () => {
      await sql`
        insert into audience.subscribers
          (id, environment_id, subscriber_key, email, email_key, source, status, created_at, updated_at)
        select platform.new_id(), ${scope.environmentId}, ${like} || n, ${like} || n || '@example.com',
          ${like} || n || '@example.com', 'IMPORT', 'ACTIVE', ${at}::timestamptz + n * interval '1 hour', ${at}
        from generate_series(1, 30) n returning id
      `.execute(this.audience.database.tables());
      await sql`
        insert into audience.consents (subscriber_id, topic_id, environment_id, status, granted_at, subscribed_at)
        select b.id, t.id, ${scope.environmentId}, t.status, ${at}, ${at} from audience.subscribers b
        cross join (values (${topics[0]!.id}::uuid, 'SUBSCRIBED'), (${topics[1]!.id}::uuid, 'PENDING_CONFIRMATION')) t(id, status)
        where b.email_key like ${`${like}%`}
      `.execute(this.audience.database.tables());
    });
  }

  /** Removes everyone from a topic, as when it is deleted. */
  async #leaveTogether({ scope, topics }: Place, { topic }: Operation): Promise<void> {
    await this.audience.database.transaction(scope, async () => {
      const { rows } = await sql<{ id: string }>`
        select b.id from audience.subscribers b where b.id in (
          select subscriber_id from audience.consents where topic_id = ${topics[topic]!.id}
        ) order by b.id for update
      `.execute(this.audience.database.tables());
      const ids = rows.map(({ id }) => id);
      await sql`
        update audience.consents set status = 'UNSUBSCRIBED', revoked_at = ${this.audience.clock.now()}
        where topic_id = ${topics[topic]!.id} and subscriber_id = any(${ids}::uuid[])
      `.execute(this.audience.database.tables());
      await this.audience.get(ConsentRepository).refreshStatuses(scope, ids, this.audience.clock.now());
    });
  }
}

function emailOf(person: number): string {
  return `person-${person}@example.com`;
}
