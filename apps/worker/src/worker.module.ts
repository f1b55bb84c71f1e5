import { type DynamicModule, Module } from '@nestjs/common';
import { AudienceModule, AudiencePlanModule } from '#audience';
import { BouncesModule, DeliverabilityWorkerModule } from '#deliverability';
import { BillingModule, PlanLimitsService } from '#billing';
import { AutomationsWorkerModule, MessagingModule, MessagingWorkerModule } from '#messaging';
import { PlatformModule, type PlatformOptions } from '#platform';
import { WebhooksWorkerModule } from '#webhooks';
import { BounceProcessor } from './deliverability/bounce-processor.js';
import { BounceServer } from './deliverability/bounce-server.js';
import { queueProviders } from './queue.providers.js';
import { Worker } from './worker.js';

/** The api's contexts without its controllers, with the queue, the jobs and the sending engine. */
@Module({})
export class WorkerModule {
  static register(options: PlatformOptions): DynamicModule {
    return {
      module: WorkerModule,
      imports: [
        PlatformModule.register(options),
        AudiencePlanModule.by(BillingModule, {
          subscriberLimit: PlanLimitsService,
          features: PlanLimitsService,
        }),
        AudienceModule,
        MessagingModule,
        DeliverabilityWorkerModule,
        BillingModule,
        AutomationsWorkerModule,
        MessagingWorkerModule,
        WebhooksWorkerModule,
        BouncesModule,
      ],
      providers: [...queueProviders, BounceProcessor, BounceServer, Worker],
    };
  }
}
