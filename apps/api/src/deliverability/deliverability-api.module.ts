import { Module } from '@nestjs/common';
import { RelaysModule, SendingDomainsModule } from '#deliverability';
import { RelaysController } from './relays.controller.js';
import { SendingDomainController } from './sending-domain.controller.js';

/** The sending domain and the relays over HTTP. */
@Module({
  imports: [RelaysModule, SendingDomainsModule],
  controllers: [RelaysController, SendingDomainController],
})
export class DeliverabilityApiModule {}
