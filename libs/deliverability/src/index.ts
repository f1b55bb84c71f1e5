export { type BounceClass, classifyRefusal, type Refusal } from './bounces/bounce-class.js';
export { nextAttemptAt } from './bounces/retry-schedule.js';
export {
  BrokenDkimKeyError,
  type DkimAlgorithm,
  type DkimKey,
  type DkimKeyMaterial,
  parseDkimKey,
} from './dkim/dkim-key.js';
export { DkimKeyring } from './dkim/dkim-keyring.js';
export { type DkimIdentity, DkimSigner } from './dkim/dkim-signer.js';
export { type CampaignFacts, criticalChecks } from './pre-send/critical-checks.js';
export {
  type CheckCode,
  type PreSendAnalysis,
  type PreSendCheck,
  summarise,
} from './pre-send/pre-send-check.js';
