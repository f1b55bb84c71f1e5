import { Module } from '@nestjs/common';
import { TrackingHostsModule } from '#deliverability';
import { KnownHosts } from './known-hosts.service.js';
import { TlsCheckController } from './tls-check.controller.js';

/** Customers' hosts for links, as requests come by them. */
@Module({ imports: [TrackingHostsModule], controllers: [TlsCheckController], providers: [KnownHosts] })
export class TrackingHostsApiModule {}
