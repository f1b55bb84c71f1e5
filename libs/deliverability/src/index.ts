export { DmarcPolicies } from './dns/dmarc-policies.service.js';
export { ReceivingDomains } from './dns/receiving-domains.service.js';
export { alignmentBelow, type DmarcAlignment } from './dns/dmarc-policy.js';
export { classifyRefusal, type Refusal } from './bounces/bounce-class.js';
export { BouncesModule } from './bounces/bounces.module.js';
export { RemoveOldReports } from './bounces/remove-old-reports.task.js';
export {
  BouncesReported,
  ComplaintReported,
  type ReportedBounce,
  UnsubscribeMailed,
} from './bounces/report.events.js';
export { readReport, type Report } from './bounces/report.js';
export { ReportsService } from './bounces/reports.service.js';
export {
  bounceClassesOf,
  CONSEQUENCES,
  type Consequences,
  type MailFailure,
} from './bounces/consequences.js';
export type { BounceClass } from './bounces/bounce-rule.js';
export { ReturnedMail } from './bounces/returned-mail.service.js';
export { type ReturnPathClaims, ReturnPaths, UnsubscribeAddresses } from './bounces/return-path.js';
export { ReturnPathsModule } from './bounces/return-paths.module.js';
export { GIVE_UP_AFTER_MS, nextAttemptAt } from './bounces/retry-schedule.js';
export { type DkimIdentity, DkimSigner } from './dkim/dkim-signer.js';
export { BrokenSigningKeyError, type SigningKeyMaterial, parseSigningKey } from './dkim/signing-key.js';
export { SigningKeyring } from './dkim/signing-keyring.js';
export type { CampaignFacts, ContentFacts, DestinationFacts } from './pre-send/campaign-facts.js';
export { analyseCampaign, type ReviewedContent } from './pre-send/campaign-checks.js';
export { mergeTagCheck, quotaMessage } from './pre-send/critical-checks.js';
export {
  DeliverabilityModule,
  DeliverabilityWorkerModule,
  SendingDomainsModule,
} from './deliverability.module.js';
export { SealedDkimKeys } from './dkim/sealed-dkim-keys.query.js';
export {
  type CheckCode,
  type PreSendAnalysis,
  type PreSendCheck,
  summarise,
} from './pre-send/pre-send-check.js';
export {
  isAtOrBelow,
  type SendingDomainStanding,
  SendingDomainStandingQuery,
} from './sending-domains/sending-domain-standing.query.js';
export { deliverabilityEntities } from './deliverability-tables.js';
export { DNS_RECORD_STATUSES, DNS_RECORD_TYPES, type RecordPurpose } from './dns/dns-record.js';
export { DomainChecksService } from './sending-domains/domain-checks.service.js';
export { DomainControlService } from './sending-domains/domain-control.service.js';
export { DomainPlan } from './sending-domains/domain-plan.js';
export { DomainUsage } from './sending-domains/domain-usage.js';
export { DomainVerificationService } from './sending-domains/domain-verification.service.js';
export { DueDomainChecks } from './sending-domains/due-domain-checks.task.js';
export { RemoveOldDomainData } from './sending-domains/remove-old-domain-data.task.js';
export {
  SENDING_DOMAIN_STATUSES,
  SENDING_DOMAIN_TYPES,
  type SendingDomainStatus,
} from './sending-domains/sending-domain-status.js';
export { DomainVerificationRequested } from './sending-domains/sending-domain.events.js';
export {
  type DnsInstructions,
  type DnsRecordView,
  SendingDomainsQuery,
  type SendingDomainView,
} from './sending-domains/sending-domains.query.js';
export { SendingDomainsService } from './sending-domains/sending-domains.service.js';
export {
  type DkimKey,
  type SendingIdentity,
  SendingIdentityQuery,
} from './sending-domains/sending-identity.query.js';
export {
  destinationOf,
  type DestinationLimit,
  limitOf,
  type LimitSettings,
  PROVIDER_DOMAINS,
  providerOf,
} from './throttling/destination.js';
export {
  type BudgetGrant,
  DestinationBudgets,
  SLOW_DOWNS_CHANNEL,
} from './throttling/destination-budgets.query.js';
export { RemoveOldThrottling } from './throttling/remove-old-throttling.task.js';
export { SLOW_DOWN_MS, slowsDown } from './bounces/slow-down.js';
export { ThrottlingModule } from './throttling/throttling.module.js';
export { type DomainWarmUp, WarmUpPlaces } from './throttling/warm-up-places.query.js';
export { type WarmUpDay, warmUpDay, warmUpDays } from './throttling/warm-up.js';
export { FeedbackAddresses } from './relays/feedback-addresses.service.js';
export { addressMark } from './relays/feedback/address-mark.js';
export { MessagesReported } from './relays/feedback/feedback.events.js';
export { FeedbackEvents } from './relays/feedback/feedback-events.service.js';
export { RelayFeedbackModule } from './relays/feedback/relay-feedback.module.js';
export { type FeedbackRefusal, RelayFeedback } from './relays/feedback/relay-feedback.service.js';
export { RELAY_KINDS } from './relays/kinds/kinds.js';
export { type Relay } from './relays/relay.js';
export { type OwnRelay, OwnRelaysQuery, ownStreams } from './relays/own-relays.query.js';
export { recordsOfRelay } from './relays/required-records.js';
export { RelayHealth } from './relays/relay-health.service.js';
export { RelayRates } from './relays/relay-rates.service.js';
export { RelayRoutes } from './relays/relay-routes.service.js';
export { kindRules } from './relays/kinds/kinds.js';
export type { RelayKindRules } from './relays/kinds/kind.js';
export { RelayChecks } from './relays/relay-checks.service.js';
export { RelayRepository } from './relays/relay.repository.js';
export { RelaysModule } from './relays/relays.module.js';
export { type RelayStanding, RelayStandingQuery } from './relays/relay-standing.query.js';
export { RelaysService } from './relays/relays.service.js';
export {
  RELAY_OPTIONS,
  RELAY_SIGNING,
  RELAY_STATUSES,
  RELAY_STREAMS,
  RELAY_TLS,
} from './relays/relay-terms.js';
export { SealedRelaySecrets } from './relays/sealed-relay-secrets.query.js';
export { DueTrackingHostChecks } from './tracking-hosts/due-tracking-host-checks.task.js';
export { publicHostOf } from './tracking-hosts/public-host.js';
export { TrackingHostChecks } from './tracking-hosts/tracking-host-checks.service.js';
export { TrackingHostsModule } from './tracking-hosts/tracking-hosts.module.js';
export {
  type HostOwner,
  TrackingHostsQuery,
  type TrackingHostView,
} from './tracking-hosts/tracking-hosts.query.js';
