export {
  BOUNCE_CLASSES,
  type BounceClass,
  bounceClassesOf,
  CONSEQUENCES,
  type Consequences,
  type MailFailure,
} from './bounces/bounce-class.js';
export { classifyRefusal, type Refusal } from './bounces/refusal.js';
export { readReport, type Report } from './bounces/report.js';
export {
  BounceRecorder,
  LOOK_AGAIN_MS,
  recordBounces,
  recordComplaint,
  type ReportedBounce,
  ReportsService,
  unsubscribeByMail,
} from './bounces/reports.service.js';
export { GIVE_UP_AFTER_MS, nextAttemptAt, SLOW_DOWN_MS, slowsDown } from './bounces/retry-schedule.js';
export { type ReturnPathClaims, ReturnPaths, UnsubscribeAddresses } from './bounces/return-path.js';
export {
  BouncesModule,
  DeliverabilityModule,
  DeliverabilityWorkerModule,
  ReturnPathsModule,
  SendingDomainsModule,
} from './deliverability.module.js';
export { deliverabilityEntities } from './deliverability.schema.js';
export { DkimKeysService } from './dkim/dkim-keys.service.js';
export { DnsReaderService } from './dns/dns-reader.service.js';
export { type DkimIdentity, DkimSigner } from './dkim/dkim-signer.js';
export {
  BrokenSigningKeyError,
  parseSigningKey,
  type SigningKeyMaterial,
  SigningKeyring,
} from './dkim/dkim-key.js';
export { alignmentBelow, type DmarcAlignment } from './dns/dmarc-policy.js';
export { DNS_RECORD_STATUSES, DNS_RECORD_TYPES, type RecordPurpose } from './dns/dns-record.js';
export { SenderHostsService } from './dns/sender-hosts.service.js';
export { analyseCampaign, quotaMessage, SENDING_NOT_ALLOWED } from './pre-send/campaign-checks.js';
export type { CampaignFacts, ContentFacts, DestinationFacts } from './pre-send/campaign-facts.js';
export { failedContentChecks, mergeTagCheck, type ReviewedContent } from './pre-send/content-checks.js';
export {
  type CheckCode,
  type PreSendAnalysis,
  type PreSendCheck,
  summarise,
} from './pre-send/pre-send-check.js';
export {
  addressMark,
  FeedbackEventsService,
  findReportedMessages,
} from './relays/feedback-events.service.js';
export {
  RELAY_OPTIONS,
  RELAY_SIGNING,
  RELAY_STATUSES,
  RELAY_STREAMS,
  RELAY_TLS,
  type RelayKindRules,
  type RelayStream,
} from './relays/kinds/kind.js';
export { kindRules, RELAY_KINDS } from './relays/kinds/kinds.js';
export {
  FeedbackAddresses,
  type FeedbackRefusal,
  RelayFeedbackService,
} from './relays/relay-feedback.service.js';
export { RelayHealthService } from './relays/relay-health.service.js';
export type { Relay } from './relays/relay.js';
export { RelayRepository } from './relays/relay.repository.js';
export {
  type OwnRelay,
  ownStreams,
  recordsOfRelay,
  RelaysQuery,
  type RelaySummary,
} from './relays/relays.query.js';
export { RelaysService } from './relays/relays.service.js';
export { DomainChecksService } from './sending-domains/domain-checks.service.js';
export { DomainVerificationService } from './sending-domains/domain-verification.service.js';
export {
  SENDING_DOMAIN_STATUSES,
  SENDING_DOMAIN_TYPES,
  type SendingDomainStatus,
} from './sending-domains/sending-domain.js';
export {
  type DkimKey,
  type DnsInstructions,
  type DnsRecordView,
  isAtOrBelow,
  SendingDomainsQuery,
  type SendingDomainSummary,
  type SendingDomainView,
  type SendingIdentity,
} from './sending-domains/sending-domains.query.js';
export {
  DomainControlService,
  DomainPlan,
  DomainUsage,
  SendingDomainsService,
} from './sending-domains/sending-domains.service.js';
export {
  type BudgetGrant,
  DestinationBudgetRepository,
  SLOW_DOWNS_CHANNEL,
} from './throttling/destination-budget.repository.js';
export {
  type DestinationLimit,
  destinationOf,
  limitOf,
  type LimitSettings,
  PROVIDER_DOMAINS,
  providerOf,
} from './throttling/destination.js';
export { type DomainWarmUp, WarmUpPlaceRepository } from './throttling/warm-up-place.repository.js';
export { type WarmUpDay, warmUpDay, warmUpDays } from './throttling/warm-up.js';
export { TrackingHostChecksService } from './tracking-host-checks.service.js';
export { publicHostOf } from './tracking-host.js';
export { type HostOwner, TrackingHostsQuery, type TrackingHostView } from './tracking-hosts.query.js';
