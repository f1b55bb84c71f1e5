import { type INestApplicationContext, Module, type Type } from '@nestjs/common';
import { NestFactory } from '@nestjs/core';
import { pino } from 'pino';
import { parseEmailAddress, type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import {
  Database,
  type Publisher,
  loadConfig,
  Notifications,
  PlatformModule,
  SilentPublisher,
} from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { prepareProject, SECRETS } from '#testing/programs/system';
import { audienceEntities, AudiencePortsModule, consentProof, SignUpService, TopicsService } from '#audience';
import { deliverabilityEntities } from '#deliverability';
import { AutomationsWorkerModule } from './automations/automations.module.js';
import type { Campaign, CampaignDraft, CampaignStatus } from './campaigns/campaign.js';
import { messagingEntities } from './messaging-tables.js';
import { CampaignLifecycleService } from './campaigns/campaign-lifecycle.service.js';
import { CampaignsService } from './campaigns/campaigns.service.js';
import { SharedPoolsModule } from './content/processes/shared-pools.fixture.js';
import { CampaignClosingService } from './sending/engine/campaign-closing.service.js';
import { CampaignExpansionService } from './sending/engine/campaign-expansion.service.js';
import type { DeliveryState } from './deliveries/delivery.js';
import type { MailOfLink } from './deliveries/linked-mails.service.js';
import { DeliveryFeedbackService } from './engagement/delivery-feedback.service.js';
import { DeliveryEngineService } from './sending/engine/delivery-engine.service.js';
import { OptInMailQueue, OptInMailsModule } from './sending/mails/opt-in-mails.service.js';
import { MessagingWorkerModule } from './messaging-worker.module.js';

export const MINUTE = 60_000;

export interface DeliveryRow {
  readonly id: string;
  readonly address: string;
  readonly message_id: string;
  readonly state: DeliveryState;
  readonly reason: string | null;
  readonly attempt: number;
  readonly possible_duplicate: boolean;
  readonly last_error: string | null;
  readonly lease_token: string | null;
  readonly next_attempt_at: Date;
}

export interface CampaignState {
  readonly status: CampaignStatus;
  readonly failure_reason: string | null;
  readonly expanded: boolean;
  readonly reserved: number;
  readonly closing: boolean;
  readonly retrying: boolean;
  readonly completed_at: Date | null;
  readonly pre_send_status: string | null;
}

const DRAFT = {
  name: 'News',
  subject: 'Hello {{ subscriber.first_name }}',
  previewText: 'What is new',
  contentText: 'Hello {{ subscriber.first_name | default: "there" }}.',
};

interface Surroundings {
  readonly test: TestDatabase;
  readonly clock: ManualClock;
  readonly publisher: Type<Publisher>;
}

/** The messaging context with its engine on a database of its own, and a clock that the test moves. */
export class MessagingFixture {
  private constructor(
    readonly test: TestDatabase,
    readonly clock: ManualClock,
    private readonly context: INestApplicationContext,
    private readonly ownsDatabase: boolean,
  ) {}

  /** `variables` are settings as in the environment: `{ SMTP_URL: sink.url }`. */
  static async open(
    variables: Readonly<Record<string, string>> = {},
    publisher: Type<Publisher> = SilentPublisher,
  ): Promise<MessagingFixture> {
    const surroundings = { test: await createTestDatabase(), clock: new ManualClock(new Date()), publisher };
    return MessagingFixture.#start(surroundings, variables, true);
  }

  /** The same on a database that is there already and stays. */
  static openOn(
    test: TestDatabase,
    variables: Readonly<Record<string, string>> = {},
    now = new Date(),
  ): Promise<MessagingFixture> {
    const surroundings = { test, clock: new ManualClock(now), publisher: SilentPublisher };
    return MessagingFixture.#start(surroundings, variables, false);
  }

  /** One more worker beside this one, with the same database and clock. Close it first. */
  beside(variables: Readonly<Record<string, string>>): Promise<MessagingFixture> {
    const { test, clock } = this;
    return MessagingFixture.#start({ test, clock, publisher: SilentPublisher }, variables, false);
  }

  static async #start(
    { test, clock, publisher }: Surroundings,
    variables: Readonly<Record<string, string>>,
    ownsDatabase: boolean,
  ): Promise<MessagingFixture> {
    const config = loadConfig({
      NODE_ENV: 'test',
      DATABASE_URL: test.url,
      REQUIRE_VERIFIED_DOMAIN: 'false',
      SMTP_CONNECTIONS: '2',
      // Nobody answers there: no test depends on the DNS of the machine.
      DNS_SERVERS: '127.0.0.1:1',
      ...SECRETS,
      ...variables,
    });
    const options = {
      config,
      clock,
      logger: pino({ level: 'silent' }),
      entities: [...audienceEntities, ...deliverabilityEntities, ...messagingEntities],
      applicationName: 'spec',
      publisher,
    };
    @Module({
      imports: [
        PlatformModule.register(options),
        SharedPoolsModule,
        AudiencePortsModule.by([OptInMailsModule], { optInMails: OptInMailQueue }),
        AutomationsWorkerModule,
        MessagingWorkerModule,
      ],
    })
    class Root {}
    const context = await NestFactory.createApplicationContext(Root, { logger: false, abortOnError: false });
    await context.get(Notifications).start();
    return new MessagingFixture(test, clock, context, ownsDatabase);
  }

  async close(): Promise<void> {
    await this.engine.stop(1_000);
    await this.context.close();
    if (this.ownsDatabase) await this.test.drop();
  }

  get<T>(type: Type<T> | symbol | { readonly prototype: T }): T {
    return this.context.get<T>(type as Type<T>, { strict: false });
  }

  get engine(): DeliveryEngineService {
    return this.get(DeliveryEngineService);
  }

  /** Stops the engine, and forgets all mail and all sending domains. */
  async clear(): Promise<void> {
    await this.engine.stop(1_000);
    await this.test.query(
      'delete from messaging.deliveries; delete from messaging.campaigns; delete from deliverability.sending_domains; delete from deliverability.relays',
    );
  }

  /** The live environment of a project of its own, with a FREE subscription. */
  async scope(): Promise<ProjectScope> {
    return (await prepareProject(this.test, '')).live;
  }

  /** A campaign to `readers` people, sent and written down: its deliveries wait for the engine. */
  async queuedCampaign(
    scope: ProjectScope,
    readers: number,
    draft: Partial<CampaignDraft> = {},
  ): Promise<Campaign> {
    return this.sends(scope, await this.draft(scope, readers, draft));
  }

  /** Another campaign like this one, to the same people, sent and written down. */
  async queuedAgain(scope: ProjectScope, { topicIds, fromEmail }: Campaign): Promise<Campaign> {
    const draft = { ...DRAFT, topicIds, fromEmail };
    return this.sends(scope, await this.get(CampaignsService).create(scope, draft));
  }

  /** Sends a draft and writes its recipients down. */
  async sends(scope: ProjectScope, { campaignKey }: Pick<Campaign, 'campaignKey'>): Promise<Campaign> {
    const queued = await this.get(CampaignLifecycleService).send(scope, campaignKey);
    await this.expand(scope, queued.id);
    return queued;
  }

  /** Somebody new asks for a topic with double opt-in, and the confirmation mail waits for the engine. */
  async asksToConfirm(scope: ProjectScope, email: string): Promise<void> {
    const parsed = parseEmailAddress(email);
    if ('fault' in parsed) throw new Error(parsed.fault);
    const topic = await this.get(TopicsService).create(scope, { name: 'Art', doubleOptInEnabled: true });
    const input = { address: parsed.address, topicKeys: [topic.topicKey], source: 'API' } as const;
    await this.get(SignUpService).create(scope, input, consentProof('API_KEY', 'key'));
  }

  /** The reader of a mail unsubscribes through it; the consents stay. */
  async unsubscribes(scope: ProjectScope, deliveryId: string): Promise<void> {
    const [mail] = await this.test.query<MailOfLink>(
      `select d.id, d.queued_on::text as "queuedOn", case when d.kind = 'CAMPAIGN' then d.source_id end as "campaignId",
         d.subscriber_id as "subscriberId", r.version_id as "versionId", messaging.place_of_step(d.source_id) as place
       from messaging.deliveries d left join messaging.automation_runs r
         on r.id = messaging.run_of_step(d.source_id) and r.environment_id = $2
       where d.id = $1 and d.environment_id = $2`,
      [deliveryId, scope.environmentId],
    );
    const noting = this.get(DeliveryFeedbackService).notingUnsubscription(scope, mail!);
    const database = this.get(Database);
    await database.transaction(scope, () => database.together(noting));
  }

  /** Ends the open deliveries of a campaign that has failed, as its job does. */
  async closed(scope: ProjectScope, campaignId: string): Promise<void> {
    await eventually('its deliveries are ended', async () => {
      const closing = this.get(CampaignClosingService);
      return (await closing.close(scope, { campaignId }, new AbortController())).kind === 'done';
    });
  }

  /** Sends a campaign that has failed once more, and writes its recipients down. */
  async resend(
    scope: ProjectScope,
    { id, campaignKey }: Pick<Campaign, 'id' | 'campaignKey'>,
  ): Promise<void> {
    await this.get(CampaignLifecycleService).send(scope, campaignKey);
    await this.expand(scope, id);
    this.engine.wake();
  }

  /** Writes a queued campaign's recipients down. */
  expand(scope: ProjectScope, campaignId: string): Promise<void> {
    return this.get(CampaignExpansionService).expand(scope, campaignId, new AbortController().signal);
  }

  async draft(scope: ProjectScope, readers: number, draft: Partial<CampaignDraft> = {}): Promise<Campaign> {
    const topic = await this.get(TopicsService).create(scope, { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(this.test, scope, topic.id, readers);
    return this.get(CampaignsService).create(scope, { ...DRAFT, topicIds: [topic.id], ...draft });
  }

  deliveries(): Promise<DeliveryRow[]> {
    return this.test.query<DeliveryRow>('select * from messaging.deliveries order by address');
  }

  /** A campaign's row. */
  async campaign(id: string): Promise<CampaignState> {
    const [row] = await this.test.query<CampaignState>(
      `select status, failure_reason, expanded_at is not null as expanded, reserved_emails::int as reserved,
         closing_since is not null as closing, retry_from is not null as retrying, completed_at, pre_send_status
       from messaging.campaigns where id = $1`,
      [id],
    );
    if (row === undefined) throw new Error('There is no such campaign.');
    return row;
  }

  /** The set of the links of a campaign's own content. */
  async linkSetOf(campaignId: string): Promise<number> {
    const [set] = await this.test.query<{ id: string }>(
      `select max(id) as id from messaging.link_sets where campaign_id = $1 and translation is null`,
      [campaignId],
    );
    return Number(set!.id);
  }

  /** The e-mails of the scope's tenant over all periods, settlements that wait included. */
  async usage({ tenantId }: ProjectScope): Promise<{ readonly used: number; readonly reserved: number }> {
    const [row] = await this.test.query<{ used: number; reserved: number }>(
      `with settled as (select coalesce(sum(used), 0) as used, coalesce(sum(released - reserved), 0) as released
         from billing.email_settlements where tenant_id = $1)
       select (coalesce(sum(u.used), 0) + s.used)::int as used,
         (coalesce(sum(u.reserved), 0) - s.used - s.released)::int as reserved
       from settled s left join billing.email_usage u on u.tenant_id = $1 group by s.used, s.released`,
      [tenantId],
    );
    return row ?? { used: 0, reserved: 0 };
  }

  /** Waits until every delivery is as asked, and returns them. */
  settled(what: string, isSo: (row: DeliveryRow) => boolean): Promise<DeliveryRow[]> {
    return eventually(what, async () => {
      const rows = await this.deliveries();
      return rows.length > 0 && rows.every(isSo) ? rows : null;
    });
  }

  /** Moves the time and lets the engine look. */
  later(milliseconds: number): void {
    this.clock.advance(milliseconds);
    this.engine.wake();
  }
}
