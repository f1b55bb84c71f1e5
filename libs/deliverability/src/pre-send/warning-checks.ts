import type { CampaignFacts } from './campaign-facts.js';
import { contentWarnings } from './content-warnings.js';
import { domainWarnings } from './domain-warnings.js';
import type { PreSendCheck } from './pre-send-check.js';

/** The checks that tell an author what could be better, and refuse nothing. */
export function warningChecks(facts: CampaignFacts): PreSendCheck[] {
  return [...contentWarnings(facts.content), ...domainWarnings(facts)];
}
