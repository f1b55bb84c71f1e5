import { Global, Module } from '@nestjs/common';
import { AudienceModule, LiveSubscribersQuery } from '#audience';
import { SubscriberCount } from '#billing';

/** Gives billing the usage that other contexts count: contexts do not know each other. */
@Global()
@Module({
  imports: [AudienceModule],
  providers: [{ provide: SubscriberCount, useExisting: LiveSubscribersQuery }],
  exports: [SubscriberCount],
})
export class UsageSourcesModule {}
