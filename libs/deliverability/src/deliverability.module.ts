import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { type Config, CONFIG } from '#platform';
import { ReportsService } from './bounces/reports.service.js';
import { ReturnPaths, UnsubscribeAddresses } from './bounces/return-path.js';
import { DkimKeysService } from './dkim/dkim-keys.service.js';
import { DkimSigner } from './dkim/dkim-signer.js';
import { SigningKeyring } from './dkim/dkim-key.js';
import { DnsReaderService } from './dns/dns-reader.service.js';
import { SenderHostsService } from './dns/sender-hosts.service.js';
import { FeedbackEventsService, FeedbackMetrics } from './relays/feedback-events.service.js';
import {
  FeedbackAddresses,
  FeedbackDocuments,
  RelayFeedbackService,
} from './relays/relay-feedback.service.js';
import { RelayHealthService } from './relays/relay-health.service.js';
import { RelayRepository } from './relays/relay.repository.js';
import { RelaysQuery } from './relays/relays.query.js';
import { RelaysService } from './relays/relays.service.js';
import { DomainChecksService } from './sending-domains/domain-checks.service.js';
import { DomainVerificationService } from './sending-domains/domain-verification.service.js';
import { SendingDomainRepository } from './sending-domains/sending-domain.repository.js';
import { SendingDomainsQuery } from './sending-domains/sending-domains.query.js';
import { DomainControlService, SendingDomainsService } from './sending-domains/sending-domains.service.js';
import { DestinationBudgetRepository } from './throttling/destination-budget.repository.js';
import { WarmUpPlaceRepository } from './throttling/warm-up-place.repository.js';
import { TrackingHostChecksService } from './tracking-host-checks.service.js';
import { TrackingHostsQuery } from './tracking-hosts.query.js';

const byTokenSecret = <Addresses>(Class: new (secret: string) => Addresses) => ({
  provide: Class,
  inject: [CONFIG],
  useFactory: (config: Config) => new Class(config.TOKEN_SECRET),
});

/** The addresses of this installation's mails, for its senders and for the receiver of reports. */
@Module({
  providers: [byTokenSecret(ReturnPaths), byTokenSecret(UnsubscribeAddresses)],
  exports: [ReturnPaths, UnsubscribeAddresses],
})
export class ReturnPathsModule {}

const SERVICES = [
  DestinationBudgetRepository,
  DkimKeysService,
  DnsReaderService,
  DomainControlService,
  DomainVerificationService,
  FeedbackAddresses,
  RelayHealthService,
  RelayRepository,
  RelaysQuery,
  RelaysService,
  SenderHostsService,
  SendingDomainRepository,
  SendingDomainsQuery,
  SigningKeyring,
  TrackingHostsQuery,
  WarmUpPlaceRepository,
];

/** Sending domains, relays, hosts for links and throttling, for senders of mail and for the operator. */
@Module({
  providers: [{ provide: DkimSigner, useFactory: () => new DkimSigner() }, ...SERVICES],
  exports: [DkimSigner, ...SERVICES],
})
export class DeliverabilityModule {}

/** Customers' actions on their domains. Needs a global `DomainUsage` and `DomainPlan`. */
@Module({
  imports: [DeliverabilityModule],
  providers: [SendingDomainsService],
  exports: [DeliverabilityModule, SendingDomainsService],
})
export class SendingDomainsModule {}

const BOUNCE_SERVICES = [FeedbackEventsService, RelayFeedbackService, ReportsService];

/** Reports on mail that was accepted: mail to return paths, and events of providers. */
@Module({
  imports: [AccessModule, DeliverabilityModule, ReturnPathsModule],
  providers: [FeedbackDocuments, FeedbackMetrics, ...BOUNCE_SERVICES],
  exports: [ReturnPathsModule, ...BOUNCE_SERVICES],
})
export class BouncesModule {}

const WORKER_SERVICES = [DomainChecksService, TrackingHostChecksService];

/** Worker-only providers: checks of DNS, on request and by the schedule. */
@Module({
  imports: [AccessModule, DeliverabilityModule],
  providers: WORKER_SERVICES,
  exports: WORKER_SERVICES,
})
export class DeliverabilityWorkerModule {}
