import { Global, Module } from '@nestjs/common';
import { DomainUsage } from '#deliverability';
import { CampaignDomainUsageQuery, MessagingModule } from '#messaging';

/** Tells whether a domain's mail is on its way: who knows domains does not know campaigns. */
@Global()
@Module({
  imports: [MessagingModule],
  providers: [{ provide: DomainUsage, useExisting: CampaignDomainUsageQuery }],
  exports: [DomainUsage],
})
export class DomainUsageModule {}
