import { type DynamicModule, Module, type Type } from '@nestjs/common';
import type { EntitySchema } from '@mikro-orm/postgresql';
import { audienceEntities, AudiencePlanModule } from '#audience';
import { accessEntities } from '#access';
import { billingEntities, BillingModule, PlanLimitsService } from '#billing';
import { deliverabilityEntities } from '#deliverability';
import { messagingEntities } from '#messaging';
import { type Config, PlatformModule, type PlatformOptions } from '#platform';
import { HttpKitModule } from '#platform/http';
import { WebhookPublisher } from '#webhooks';
import { AccessApiModule } from './access/access-api.module.js';
import { ApiLifecycle } from './api-lifecycle.js';
import { AudienceApiModule } from './audience/audience-api.module.js';
import { DeliverabilityApiModule } from './deliverability/deliverability-api.module.js';
import { DocsModule } from './docs/docs.module.js';
import { DomainPortsModule } from './deliverability/domain-ports.module.js';
import { BillingApiModule } from './billing/billing-api.module.js';
import { UsageSourcesModule } from './billing/usage-sources.module.js';
import { MessagingApiModule } from './messaging/messaging-api.module.js';
import { ReferenceModule } from './openapi/reference.module.js';
import { HealthController, MetricsController } from './operations/operations.controller.js';
import { PublicPagesModule } from './public-pages/public-pages.module.js';
import { TrackingHostsApiModule } from './tracking-hosts/tracking-hosts-api.module.js';

/** The tables that the contexts map as aggregates. */
const ENTITIES: readonly EntitySchema[] = [
  ...accessEntities,
  ...audienceEntities,
  ...billingEntities,
  ...deliverabilityEntities,
  ...messagingEntities,
];

/** The contexts over HTTP. */
const EDGES = [
  AccessApiModule,
  AudiencePlanModule.by(BillingModule, {
    subscriberLimit: PlanLimitsService,
    features: PlanLimitsService,
  }),
  AudienceApiModule,
  MessagingApiModule,
  DomainPortsModule,
  DeliverabilityApiModule,
  UsageSourcesModule,
  BillingApiModule,
  PublicPagesModule,
  TrackingHostsApiModule,
  ReferenceModule,
  DocsModule,
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
          publisher: WebhookPublisher,
        }),
        HttpKitModule,
        ...EDGES,
      ],
      controllers: operationsControllers(options.config),
      providers: [ApiLifecycle],
    };
  }
}

/** Health on the public port, without metrics: they name every route in use. */
function operationsControllers({ OPERATIONS_PORT, METRICS_PORT, NODE_ENV }: Config): Type[] {
  if (OPERATIONS_PORT !== undefined) return [];
  const isPrivate = METRICS_PORT === undefined && NODE_ENV !== 'production';
  return isPrivate ? [HealthController, MetricsController] : [HealthController];
}
