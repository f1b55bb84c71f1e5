import { Module } from '@nestjs/common';
import { SendingDomainsModule } from '#deliverability';
import { SendingDomainController } from './sending-domain.controller.js';

/** The sending domain over HTTP. */
@Module({ imports: [SendingDomainsModule], controllers: [SendingDomainController] })
export class DeliverabilityApiModule {}
