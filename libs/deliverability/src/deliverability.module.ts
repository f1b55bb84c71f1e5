import { Module } from '@nestjs/common';
import { SendingIdentityQuery } from './sending-domains/sending-identity.query.js';

/** Sending domains: their set-up, their checks, and as whom mail goes out. */
@Module({
  providers: [SendingIdentityQuery],
  exports: [SendingIdentityQuery],
})
export class DeliverabilityModule {}
