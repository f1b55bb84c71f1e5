import type { CampaignFacts } from './campaign-facts.js';
import { contentWarnings } from './content-warnings.js';
import { destinationLimits } from './destination-limits.js';
import { domainWarnings } from './domain-warnings.js';
import type { PreSendCheck } from './pre-send-check.js';
import { relayFeedback, relaysCheck } from './relay-checks.js';

/** The checks that tell an author what could be better, or what to expect, and refuse nothing. */
export function warningChecks(facts: CampaignFacts): PreSendCheck[] {
  return [
    ...contentWarnings(facts.content),
    ...domainWarnings(facts),
    relaysCheck(facts),
    destinationLimits(facts),
    relayFeedback(facts),
  ];
}
