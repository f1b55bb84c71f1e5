import { Module } from '@nestjs/common';
import { BouncesModule, SendingDomainsModule } from '#deliverability';
import { FeedbackController } from './feedback.controller.js';
import { RelaysController } from './relays.controller.js';
import { SendingDomainController } from './sending-domain.controller.js';

/** The sending domain, the relays and what they report over HTTP. */
@Module({
  imports: [BouncesModule, SendingDomainsModule],
  controllers: [FeedbackController, RelaysController, SendingDomainController],
})
export class DeliverabilityApiModule {}
