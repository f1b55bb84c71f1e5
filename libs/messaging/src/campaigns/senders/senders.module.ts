import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { DeliverabilityModule } from '#deliverability';
import { Senders } from './senders.service.js';

/** Who mail is from, for campaigns and automations alike. */
@Module({ imports: [AccessModule, DeliverabilityModule], providers: [Senders], exports: [Senders] })
export class SendersModule {}
