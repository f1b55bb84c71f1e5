export { classifyRefusal, type Refusal } from './bounces/bounce-class.js';
export { BouncesModule } from './bounces/bounces.module.js';
export { BounceReported, ComplaintReported } from './bounces/report.events.js';
export { readReport, type Report } from './bounces/report.js';
export { ReportsService } from './bounces/reports.service.js';
export { BOUNCE_CONSEQUENCES } from './bounces/bounce-class.js';
export type { BounceClass } from './bounces/bounce-table.js';
export { type ReturnPathClaims, ReturnPaths } from './bounces/return-path.js';
export { ReturnPathsModule } from './bounces/return-paths.module.js';
export { nextAttemptAt } from './bounces/retry-schedule.js';
export { DeliverabilityModule } from './deliverability.module.js';
export { type DkimIdentity, DkimSigner } from './dkim/dkim-signer.js';
export { BrokenSigningKeyError, type SigningKeyMaterial, parseSigningKey } from './dkim/signing-key.js';
export { SigningKeyring } from './dkim/signing-keyring.js';
export type { CampaignFacts, ContentFacts, SenderFacts } from './pre-send/campaign-facts.js';
export { criticalChecks } from './pre-send/critical-checks.js';
export {
  type CheckCode,
  type PreSendAnalysis,
  type PreSendCheck,
  summarise,
} from './pre-send/pre-send-check.js';
export { warningChecks } from './pre-send/warning-checks.js';
export {
  isAtOrBelow,
  type SendingDomainStanding,
  SendingDomainStandingQuery,
} from './sending-domains/sending-domain-standing.query.js';
export {
  type DkimKey,
  type SendingIdentity,
  SendingIdentityQuery,
} from './sending-domains/sending-identity.query.js';
export type { SendingDomainStatus } from './sending-domains/sending-domain.js';
export { type WarmUpDay, warmUpDay, warmUpDays } from './throttling/warm-up.js';
