import type { EntitySchema } from '@mikro-orm/postgresql';
import {
  type BeforeApplicationShutdown,
  type DynamicModule,
  Inject,
  Injectable,
  Module,
  type OnApplicationBootstrap,
  type OnApplicationShutdown,
  type Type,
} from '@nestjs/common';
import { HttpAdapterHost } from '@nestjs/core';
import type { FastifyAdapter } from '@nestjs/platform-fastify';
import { accessEntities } from '#access';
import { audienceEntities, AudiencePortsModule } from '#audience';
import { billingEntities, BillingModule, PlanLimitsService } from '#billing';
import { deliverabilityEntities } from '#deliverability';
import { BounceRecordingModule, messagingEntities, OptInMailQueue, OptInMailsModule } from '#messaging';
import {
  type Config,
  CONFIG,
  Notifications,
  Operations,
  OPERATIONS_PATHS,
  OperationsServer,
  PlatformModule,
  type PlatformOptions,
} from '#platform';
import { HttpKitModule } from '#platform/http';
import { webhookEntities, WebhookPublisherService } from '#webhooks';
import { AccessApiModule } from './access/access-api.module.js';
import { AudienceApiModule } from './audience/audience-api.module.js';
import { BillingApiModule, UsageSourcesModule } from './billing/billing-api.module.js';
import { DeliverabilityApiModule, DomainPortsModule } from './deliverability/deliverability-api.module.js';
import { DocsController } from './docs/docs.controller.js';
import { MessagingApiModule } from './messaging/messaging-api.module.js';
import { ApiDocument } from './openapi/api-document.js';
import { ReferenceController } from './openapi/reference.controller.js';
import { HealthController, MetricsController, SecurityTxtController } from './operations.controller.js';
import { OperatorApiModule } from './operator/operator-api.module.js';
import { PublicPagesModule } from './public-pages/public-pages.module.js';
import { WebhooksApiModule } from './webhooks/webhooks-api.module.js';

/** Starts and stops with the api's process. */
@Injectable()
export class ApiLifecycle
  implements OnApplicationBootstrap, BeforeApplicationShutdown, OnApplicationShutdown
{
  readonly #operationsServer: OperationsServer;
  readonly #metricsServer: OperationsServer;
  #operationsPort: number | null = null;
  #metricsPort: number | null = null;
  #patience: NodeJS.Timeout | undefined;

  constructor(
    @Inject(CONFIG) private readonly config: Config,
    private readonly notifications: Notifications,
    operations: Operations,
    @Inject(HttpAdapterHost) private readonly http: HttpAdapterHost<FastifyAdapter>,
  ) {
    this.#operationsServer = new OperationsServer(operations, OPERATIONS_PATHS, (request, response) =>
      http.httpAdapter.getInstance().routing(request, response),
    );
    this.#metricsServer = new OperationsServer(operations, ['/metrics']);
  }

  async onApplicationBootstrap(): Promise<void> {
    await this.notifications.start();
    const { OPERATIONS_PORT, METRICS_PORT, HOST } = this.config;
    const listen = async (server: OperationsServer, port: number | undefined) =>
      port === undefined ? null : server.listen(port, HOST);
    this.#operationsPort = await listen(this.#operationsServer, OPERATIONS_PORT);
    this.#metricsPort = await listen(this.#metricsServer, METRICS_PORT);
  }

  /** The ports of the servers for operations and metrics; null where there is none. */
  get ports(): { readonly operations: number | null; readonly metrics: number | null } {
    return { operations: this.#operationsPort, metrics: this.#metricsPort };
  }

  /** Waits for running requests; closes their connections after SHUTDOWN_TIMEOUT_MS. */
  beforeApplicationShutdown(): void {
    const server = this.http.httpAdapter.getInstance().server;
    this.#patience = setTimeout(() => server.closeAllConnections(), this.config.SHUTDOWN_TIMEOUT_MS);
  }

  async onApplicationShutdown(): Promise<void> {
    clearTimeout(this.#patience);
    await Promise.all([this.#operationsServer.close(), this.#metricsServer.close()]);
  }
}

/** The tables that the contexts map as aggregates. */
const ENTITIES: readonly EntitySchema[] = [
  ...accessEntities,
  ...audienceEntities,
  ...billingEntities,
  ...deliverabilityEntities,
  ...messagingEntities,
  ...webhookEntities,
];

/** The contexts over HTTP. */
const EDGES = [
  AccessApiModule,
  AudiencePortsModule.by([BillingModule, OptInMailsModule], {
    plan: PlanLimitsService,
    optInMails: OptInMailQueue,
  }),
  AudienceApiModule,
  MessagingApiModule,
  BounceRecordingModule,
  DomainPortsModule,
  DeliverabilityApiModule,
  UsageSourcesModule,
  BillingApiModule,
  WebhooksApiModule,
  PublicPagesModule,
  OperatorApiModule,
];

/** The api process: the platform, the HTTP kit, and every context's controllers. */
@Module({})
export class ApiModule {
  static register(options: Omit<PlatformOptions, 'entities' | 'applicationName'>): DynamicModule {
    return {
      module: ApiModule,
      imports: [
        PlatformModule.register({
          ...options,
          entities: ENTITIES,
          applicationName: 'mailwright-api',
          // A statement ends before the request that asked for it.
          statementTimeoutMs: Math.round((options.config.REQUEST_TIMEOUT_MS * 2) / 3),
          publisher: WebhookPublisherService,
        }),
        HttpKitModule,
        ...EDGES,
      ],
      controllers: [
        DocsController,
        ReferenceController,
        SecurityTxtController,
        ...operationsControllers(options.config),
      ],
      providers: [ApiDocument, ApiLifecycle],
    };
  }
}

/** Health on the public port, without metrics: they name every route in use. */
function operationsControllers({ OPERATIONS_PORT, METRICS_PORT, NODE_ENV }: Config): Type[] {
  if (OPERATIONS_PORT !== undefined) return [];
  const isPrivate = METRICS_PORT === undefined && NODE_ENV !== 'production';
  return isPrivate ? [HealthController, MetricsController] : [HealthController];
}
