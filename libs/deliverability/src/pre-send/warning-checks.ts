import type { CampaignFacts } from './campaign-facts.js';
import { contentWarnings } from './content-warnings.js';
import { destinationLimits } from './destination-limits.js';
import { domainWarnings } from './domain-warnings.js';
import type { PreSendCheck } from './pre-send-check.js';

/** The checks that tell an author what could be better, or what to expect, and refuse nothing. */
export function warningChecks(facts: CampaignFacts): PreSendCheck[] {
  return [...contentWarnings(facts.content), ...domainWarnings(facts), destinationLimits(facts)];
}
