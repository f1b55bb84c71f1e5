import { Module } from '@nestjs/common';
import { DeliverabilityModule } from '#deliverability';
import { KnownHosts } from './known-hosts.service.js';
import { TlsCheckController } from './tls-check.controller.js';

/** Customers' hosts for links, as requests come by them. */
@Module({ imports: [DeliverabilityModule], controllers: [TlsCheckController], providers: [KnownHosts] })
export class TrackingHostsApiModule {}
