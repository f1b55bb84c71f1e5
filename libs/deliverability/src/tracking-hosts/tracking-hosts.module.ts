import { Module } from '@nestjs/common';
import { TrackingHostsQuery } from './tracking-hosts.query.js';

/** What is known of customers' hosts for links. */
@Module({ providers: [TrackingHostsQuery], exports: [TrackingHostsQuery] })
export class TrackingHostsModule {}
