import { type DynamicModule, Module } from '@nestjs/common';
import { AudienceModule, SubscriberAllowanceModule } from '#audience';
import { BillingModule, SubscriberLimitQuery } from '#billing';
import { MessagingWorkerModule } from '#messaging';
import { PlatformModule, type PlatformOptions } from '#platform';
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
        SubscriberAllowanceModule.by(BillingModule, SubscriberLimitQuery),
        AudienceModule,
        MessagingWorkerModule,
      ],
      providers: [...queueProviders, Worker],
    };
  }
}
