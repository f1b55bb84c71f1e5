import { Global, Injectable, type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { type RawBuilder, sql } from 'kysely';
import { Clock, type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Publisher, CONFIG, Database, loadConfig, SilentPublisher } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { AudiencePortsModule } from './audience-ports.module.js';
import { audienceEntities } from './audience-tables.js';
import { AudienceModule } from './audience.module.js';
import {
  type ConfirmationDescription,
  ConfirmationsService,
  type ConfirmingPerson,
} from './sign-up/confirmations.service.js';
import { ConsentsService } from './sign-up/consents.service.js';
import { consentProof } from './consents/consent.js';
import { confirmationRecipients, OptInMails } from './consents/consent.repository.js';
import type { SubscriberView } from './subscribers/subscriber.js';
import { SubscribersQuery } from './subscribers/subscribers.query.js';
import { SignUpService } from './sign-up/sign-up.service.js';
import type { NewTopic } from './topics/topic.js';
import { TopicsService } from './topics/topics.service.js';
import type { TopicView } from './topics/topics.query.js';

export const PROOF = consentProof('API_KEY', 'key-1', { source: 'signup-form', ipAddress: '203.0.113.7' });
export const MINUTE = 60_000;
export const HOUR = 60 * MINUTE;

/** Queues mails as the context that sends them does, as far as the audience can tell: without addresses, which that one erases. */
@Injectable()
export class QueuedOptInMails extends OptInMails {
  /** The number of mails of each call. */
  readonly batches: number[] = [];

  override async queueing(
    scope: ProjectScope,
    confirmationIds: readonly string[],
    dueAt: Date,
  ): Promise<RawBuilder<unknown>> {
    this.batches.push(confirmationIds.length);
    return sql`
      insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address,
        address_key, message_id, state, next_attempt_at, created_at)
      select platform.new_id(), current_date, ${scope.environmentId}, 'OPT_IN', r.confirmation_id, r.subscriber_id,
        r.confirmation_id, r.confirmation_id, '', 'PENDING', ${dueAt}::timestamptz, now()
      from (${confirmationRecipients(scope, confirmationIds)}) r
      returning id`;
  }

  override templateKey(): Promise<string> {
    throw new Error('The audience has no templates.');
  }
}

@Module({ providers: [QueuedOptInMails], exports: [QueuedOptInMails] })
class OptInMailsModule {}

/** The audience context on its own database, with a clock that the test moves. */
export class AudienceFixture {
  private constructor(
    readonly test: TestDatabase,
    readonly database: Database,
    readonly clock: ManualClock,
    private readonly context: INestApplicationContext,
  ) {}

  static async open(poolSize = 6): Promise<AudienceFixture> {
    const test = await createTestDatabase();
    const database = await Database.connect({
      url: test.url,
      poolSize,
      applicationName: 'spec',
      entities: audienceEntities,
    });
    const clock = new ManualClock(new Date('2026-11-21T06:00:00.000Z'));
    const providers = [
      { provide: Database, useValue: database },
      { provide: Clock, useValue: clock },
      { provide: Publisher, useClass: SilentPublisher },
      { provide: CONFIG, useValue: loadConfig({ NODE_ENV: 'test', DATABASE_URL: test.url }) },
    ];
    @Global()
    @Module({ providers, exports: providers })
    class TestPlatform {}
    const ports = AudiencePortsModule.by([OptInMailsModule], { optInMails: QueuedOptInMails });
    @Module({ imports: [TestPlatform, ports, AudienceModule] })
    class Root {}
    const context = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
    return new AudienceFixture(test, database, clock, context);
  }

  async close(): Promise<void> {
    await this.context.close();
    await this.database.close();
    await this.test.drop();
  }

  get<T>(type: Type<T>): T {
    return this.context.get(type);
  }

  /** The test environment of a new project. */
  async scope(projectKey = 'APIT'): Promise<ProjectScope> {
    return (await createProject(this.test, projectKey)).test;
  }

  /** The live and test environments of a new project. */
  project(projectKey = 'APIT') {
    return createProject(this.test, projectKey);
  }

  topic(scope: ProjectScope, input: Partial<NewTopic> = {}): Promise<TopicView> {
    return this.get(TopicsService).create(scope, { name: 'News', doubleOptInEnabled: false, ...input });
  }

  subscribe(scope: ProjectScope, email: string, ...topics: readonly TopicView[]): Promise<SubscriberView> {
    const topicKeys = topics.map(({ topicKey }) => topicKey);
    return this.get(SignUpService).create(
      scope,
      { address: address(email), topicKeys, source: 'API' },
      PROOF,
    );
  }

  async statusOf(scope: ProjectScope, email: string): Promise<string> {
    return (await this.get(SubscribersQuery).get(scope, address(email))).status;
  }

  /** The consents of a subscriber, by topic key. */
  async consentsOf(scope: ProjectScope, email: string) {
    const { consents } = await this.get(ConsentsService).preferences(scope, address(email));
    return new Map(consents.map((consent) => [consent.topicKey, consent]));
  }

  /** The consent record of a subscriber as `from → to (actor)`, oldest first. */
  async ledger(subscriberId: string): Promise<string[]> {
    const rows = await this.test.query<{ from_status: string | null; to_status: string; actor: string }>(
      'select from_status, to_status, actor from audience.consent_ledger where subscriber_id = $1 order by position',
      [subscriberId],
    );
    return rows.map((row) => `${row.from_status ?? 'none'} → ${row.to_status} (${row.actor})`);
  }

  /** The ids of the confirmations whose mail was queued, oldest first. */
  async requestedMails(scope: ProjectScope): Promise<string[]> {
    const rows = await this.test.query<{ id: string }>(
      `select source_id as id from messaging.deliveries where kind = 'OPT_IN' and environment_id = $1 order by source_id`,
      [scope.environmentId],
    );
    return rows.map(({ id }) => id);
  }
}

/** Pages behind the links of confirmation mails. */
export class ConfirmationPages {
  readonly #confirmations: ConfirmationsService;

  constructor(audience: AudienceFixture) {
    this.#confirmations = audience.get(ConfirmationsService);
  }

  async describe(scope: ProjectScope, confirmationId: string): Promise<ConfirmationDescription> {
    return (await this.#confirmations.describe(scope, confirmationId, sql`select 1`))[0];
  }

  confirm(scope: ProjectScope, confirmationId: string, by: ConfirmingPerson) {
    return this.#confirmations.whileLocked(scope, confirmationId, [], (request) =>
      this.#confirmations.confirm(scope, request, by),
    );
  }

  requestAnother(scope: ProjectScope, confirmationId: string) {
    return this.#confirmations.whileLocked(scope, confirmationId, [], (request) =>
      this.#confirmations.requestAnother(scope, request),
    );
  }
}

export function address(email: string): EmailAddress {
  const result = parseEmailAddress(email);
  if ('fault' in result) throw new Error(`${email} ${result.fault}`);
  return result.address;
}
