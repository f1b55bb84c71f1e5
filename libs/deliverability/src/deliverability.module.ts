import { Module } from '@nestjs/common';
import { AccessModule } from '#access';
import { DkimKeyMaker } from './dkim/dkim-key-maker.service.js';
import { DkimSigner } from './dkim/dkim-signer.js';
import { SealedDkimKeys } from './dkim/sealed-dkim-keys.query.js';
import { SigningKeyring } from './dkim/signing-keyring.js';
import { DmarcPolicies } from './dns/dmarc-policies.service.js';
import { DnsReader } from './dns/dns-reader.service.js';
import { ReceivingDomains } from './dns/receiving-domains.service.js';
import { RecordChecks } from './dns/record-checks.service.js';
import { SpfCheck } from './dns/spf-check.service.js';
import { RelayStandingQuery } from './relays/relay-standing.query.js';
import { RequiredRecordsQuery } from './relays/required-records.query.js';
import { DomainCheckRequests } from './sending-domains/domain-check-requests.query.js';
import { DomainChecksService } from './sending-domains/domain-checks.service.js';
import { DomainControlService } from './sending-domains/domain-control.service.js';
import { DomainRecordsMaker } from './sending-domains/domain-records-maker.service.js';
import { DomainVerificationService } from './sending-domains/domain-verification.service.js';
import { DomainVerdicts } from './sending-domains/domain-verdicts.service.js';
import { DueDomainChecks } from './sending-domains/due-domain-checks.task.js';
import { RemoveOldDomainData } from './sending-domains/remove-old-domain-data.task.js';
import { SendingDomainRules } from './sending-domains/sending-domain-rules.service.js';
import { SendingDomainStandingQuery } from './sending-domains/sending-domain-standing.query.js';
import { SendingDomainRepository } from './sending-domains/sending-domain.repository.js';
import { SendingDomainsQuery } from './sending-domains/sending-domains.query.js';
import { SendingDomainsService } from './sending-domains/sending-domains.service.js';
import { SendingIdentityQuery } from './sending-domains/sending-identity.query.js';
import { DueTrackingHostChecks } from './tracking-hosts/due-tracking-host-checks.task.js';
import { HostPointing } from './tracking-hosts/host-pointing.service.js';
import { TrackingHostChecks } from './tracking-hosts/tracking-host-checks.service.js';
import { TrackingHostsModule } from './tracking-hosts/tracking-hosts.module.js';

const services = [
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
  providers: [{ provide: DkimSigner, useFactory: () => new DkimSigner() }, ...services],
  exports: [DkimSigner, TrackingHostsModule, ...services],
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
