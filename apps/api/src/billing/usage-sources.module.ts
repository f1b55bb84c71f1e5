import { Global, Module } from '@nestjs/common';
import { AudienceModule, LiveSubscribersQuery } from '#audience';
import { SubscriberCount } from '#billing';

/** Tells billing how much is used of what other contexts keep: they do not know each other. */
@Global()
@Module({
  imports: [AudienceModule],
  providers: [{ provide: SubscriberCount, useExisting: LiveSubscribersQuery }],
  exports: [SubscriberCount],
})
export class UsageSourcesModule {}
