import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { type Config, CONFIG } from '#platform';
import { RemoveOldReports, ReportsService } from './bounces/reports.service.js';
import { ReturnPaths, UnsubscribeAddresses } from './bounces/return-path.js';
import { DkimKeyMaker, SealedDkimKeys } from './dkim/dkim-keys.service.js';
import { DkimSigner } from './dkim/dkim-signer.js';
import { SigningKeyring } from './dkim/signing-key.js';
import { DnsReader } from './dns/dns-reader.service.js';
import { RecordChecks } from './dns/record-checks.service.js';
import { SenderHosts } from './dns/sender-hosts.service.js';
import { FeedbackEvents, FeedbackMetrics } from './relays/feedback-events.service.js';
import { FeedbackAddresses, FeedbackDocuments, RelayFeedback } from './relays/relay-feedback.service.js';
import { RelayHealth, RelayRoutes } from './relays/relay-health.service.js';
import { RelayRepository, SealedRelaySecrets } from './relays/relay.repository.js';
import { RelaysQuery } from './relays/relays.query.js';
import { RelaysService } from './relays/relays.service.js';
import {
  DomainChecksService,
  DueDomainChecks,
  RemoveOldDomainData,
} from './sending-domains/domain-checks.service.js';
import {
  DomainCheckRequests,
  DomainVerificationService,
} from './sending-domains/domain-verification.service.js';
import { SendingDomainRepository } from './sending-domains/sending-domain.repository.js';
import { SendingDomainsQuery } from './sending-domains/sending-domains.query.js';
import { DomainControlService, SendingDomainsService } from './sending-domains/sending-domains.service.js';
import { DestinationBudgets, RemoveOldThrottling } from './throttling/destination-budgets.repository.js';
import { WarmUpPlaces } from './throttling/warm-up-places.repository.js';
import { DueTrackingHostChecks, TrackingHostChecks } from './tracking-host-checks.service.js';
import { TrackingHostsQuery } from './tracking-hosts.query.js';

/** How fast mail may go where. */
@Module({
  providers: [DestinationBudgets, RemoveOldThrottling, WarmUpPlaces],
  exports: [DestinationBudgets, RemoveOldThrottling, WarmUpPlaces],
})
export class ThrottlingModule {}

/** What is known of customers' hosts for links. */
@Module({ providers: [TrackingHostsQuery], exports: [TrackingHostsQuery] })
export class TrackingHostsModule {}

/** The addresses of this installation's mails, for who sends mail and for who takes in what comes back. */
@Module({
  providers: [
    {
      provide: ReturnPaths,
      inject: [CONFIG],
      useFactory: (config: Config) => new ReturnPaths(config.TOKEN_SECRET),
    },
    {
      provide: UnsubscribeAddresses,
      inject: [CONFIG],
      useFactory: (config: Config) => new UnsubscribeAddresses(config.TOKEN_SECRET),
    },
  ],
  exports: [ReturnPaths, UnsubscribeAddresses],
})
export class ReturnPathsModule {}

const BOUNCE_SERVICES = [RemoveOldReports, ReportsService];

/** Reports on mail that was accepted. */
@Module({
  imports: [AccessModule, ReturnPathsModule],
  providers: BOUNCE_SERVICES,
  exports: [...BOUNCE_SERVICES, ReturnPathsModule],
})
export class BouncesModule {}

const RELAY_SERVICES = [
  FeedbackAddresses,
  RelayHealth,
  RelayRepository,
  RelayRoutes,
  RelaysService,
  SealedRelaySecrets,
];

/** Where projects' live mail is handed over, and what is said back. */
@Module({ providers: RELAY_SERVICES, exports: RELAY_SERVICES })
export class RelaysModule {}

/** What providers post about mail that their relays took. */
@Module({
  imports: [AccessModule, BouncesModule, RelaysModule],
  providers: [FeedbackDocuments, FeedbackEvents, FeedbackMetrics, RelayFeedback],
  exports: [FeedbackEvents, RelayFeedback],
})
export class RelayFeedbackModule {}

const DOMAIN_SERVICES = [
  DkimKeyMaker,
  DnsReader,
  SenderHosts,
  DomainCheckRequests,
  DomainControlService,
  RelaysQuery,
  SealedDkimKeys,
  SendingDomainRepository,
  SendingDomainsQuery,
  SigningKeyring,
];

/** Sending domains: as whom mail goes out, and what the operator does with them. */
@Module({
  imports: [TrackingHostsModule],
  providers: [{ provide: DkimSigner, useFactory: () => new DkimSigner() }, ...DOMAIN_SERVICES],
  exports: [DkimSigner, TrackingHostsModule, ...DOMAIN_SERVICES],
})
export class DeliverabilityModule {}

/** What customers do with their domains. Needs a global `DomainUsage` and `DomainPlan`. */
@Module({
  imports: [DeliverabilityModule],
  providers: [DomainVerificationService, SendingDomainsService],
  exports: [DeliverabilityModule, DomainVerificationService, SendingDomainsService],
})
export class SendingDomainsModule {}

/** What only the worker has: looking at DNS, asked for and by the schedule. */
@Module({
  imports: [AccessModule, DeliverabilityModule],
  providers: [
    DomainChecksService,
    DueDomainChecks,
    DueTrackingHostChecks,
    RecordChecks,
    RemoveOldDomainData,
    TrackingHostChecks,
  ],
  exports: [
    DomainChecksService,
    DueDomainChecks,
    DueTrackingHostChecks,
    RemoveOldDomainData,
    TrackingHostChecks,
  ],
})
export class DeliverabilityWorkerModule {}
