import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { type Config, CONFIG } from '#platform';
import { RemoveOldReports, ReportsService } from './bounces/reports.service.js';
import { ReturnPaths, UnsubscribeAddresses } from './bounces/return-path.js';
import { DkimKeyMaker } from './dkim/dkim-key-maker.service.js';
import { DkimSigner } from './dkim/dkim-signer.js';
import { SealedDkimKeys } from './dkim/sealed-dkim-keys.query.js';
import { SigningKeyring } from './dkim/signing-keyring.js';
import { DmarcPolicies } from './dns/dmarc-policies.service.js';
import { DnsReader } from './dns/dns-reader.service.js';
import { ReceivingDomains } from './dns/receiving-domains.service.js';
import { RecordChecks } from './dns/record-checks.service.js';
import { SpfCheck } from './dns/spf-check.service.js';
import { FeedbackEvents, FeedbackMetrics } from './relays/feedback-events.service.js';
import {
  FeedbackAddresses,
  FeedbackDocuments,
  FeedbackRelays,
  RelayFeedback,
} from './relays/relay-feedback.service.js';
import { RelayChecks, RelayHealth, RelayRoutes } from './relays/relay-health.service.js';
import { RelayRates, RelayRepository, SealedRelaySecrets } from './relays/relay.repository.js';
import { OwnRelaysQuery, RelayStandingQuery, RequiredRecordsQuery } from './relays/relays.query.js';
import { RelaysService } from './relays/relays.service.js';
import { DomainCheckRequests } from './sending-domains/domain-check-requests.query.js';
import { DomainChecksService } from './sending-domains/domain-checks.service.js';
import { DomainControlService } from './sending-domains/domain-control.service.js';
import { DomainRecordsMaker } from './sending-domains/domain-records-maker.service.js';
import { DomainVerdicts } from './sending-domains/domain-verdicts.service.js';
import { DomainVerificationService } from './sending-domains/domain-verification.service.js';
import { DueDomainChecks } from './sending-domains/due-domain-checks.task.js';
import { RemoveOldDomainData } from './sending-domains/remove-old-domain-data.task.js';
import { SendingDomainRules } from './sending-domains/sending-domain-rules.service.js';
import { SendingDomainStandingQuery } from './sending-domains/sending-domain-standing.query.js';
import { SendingDomainRepository } from './sending-domains/sending-domain.repository.js';
import { SendingDomainsQuery } from './sending-domains/sending-domains.query.js';
import { SendingDomainsService } from './sending-domains/sending-domains.service.js';
import { SendingIdentityQuery } from './sending-domains/sending-identity.query.js';
import { DestinationBudgets, RemoveOldThrottling } from './throttling/destination-budgets.repository.js';
import { WarmUpPlaces } from './throttling/warm-up-places.repository.js';
import { DueTrackingHostChecks } from './tracking-hosts/due-tracking-host-checks.task.js';
import { HostPointing } from './tracking-hosts/host-pointing.service.js';
import { TrackingHostChecks } from './tracking-hosts/tracking-host-checks.service.js';
import { TrackingHostsQuery } from './tracking-hosts/tracking-hosts.query.js';

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
  OwnRelaysQuery,
  RelayChecks,
  RelayHealth,
  RelayRates,
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
  providers: [FeedbackDocuments, FeedbackEvents, FeedbackMetrics, FeedbackRelays, RelayFeedback],
  exports: [FeedbackEvents, RelayFeedback],
})
export class RelayFeedbackModule {}

const DOMAIN_SERVICES = [
  DkimKeyMaker,
  DmarcPolicies,
  DnsReader,
  ReceivingDomains,
  DomainCheckRequests,
  DomainControlService,
  RelayStandingQuery,
  RequiredRecordsQuery,
  SealedDkimKeys,
  SendingDomainRepository,
  SendingDomainsQuery,
  SendingDomainStandingQuery,
  SendingIdentityQuery,
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
  providers: [DomainRecordsMaker, DomainVerificationService, SendingDomainRules, SendingDomainsService],
  exports: [DeliverabilityModule, DomainVerificationService, SendingDomainsService],
})
export class SendingDomainsModule {}

/** What only the worker has: looking at DNS, asked for and by the schedule. */
@Module({
  imports: [AccessModule, DeliverabilityModule],
  providers: [
    DomainChecksService,
    DomainVerdicts,
    DueDomainChecks,
    DueTrackingHostChecks,
    HostPointing,
    RecordChecks,
    RemoveOldDomainData,
    SpfCheck,
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
