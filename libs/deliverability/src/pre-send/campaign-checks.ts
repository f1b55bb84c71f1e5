import type { CampaignFacts } from './campaign-facts.js';
import { contentWarnings } from './content-warnings.js';
import { criticalChecks, criticalContentChecks } from './critical-checks.js';
import { fail, type PreSendAnalysis, type PreSendCheck, summarise } from './pre-send-check.js';
import { warningChecks } from './warning-checks.js';

/** What the checks need to know of a campaign's content in one language. */
export type ReviewedContent = Pick<CampaignFacts, 'mergeTagFaults' | 'contentFault' | 'content'>;

/** By locale. */
export type ReviewedTranslations = ReadonlyMap<string, ReviewedContent>;

/**
 * All checks of a campaign. One fails that fails in any of its languages, and names those of translations; the score is that of
 * the language that does worst.
 */
export function analyseCampaign(facts: CampaignFacts, translations: ReviewedTranslations): PreSendAnalysis {
  const own = [...criticalChecks(facts), ...warningChecks(facts)];
  const others = [...translations].map(([locale, review]) => {
    const checks = [...criticalContentChecks(review), ...contentWarnings(review.content)];
    return { locale, checks: new Map(checks.map((check) => [check.code, check])) };
  });
  const merged = own.map((check) => {
    const failures = others.flatMap(({ locale, checks }) => {
      const other = checks.get(check.code);
      return other?.result === 'FAIL' ? [`${locale}: ${other.message}`] : [];
    });
    return failures.length === 0 ? check : failedIn(check, failures);
  });
  const scores = others.map(
    ({ checks }) => summarise(own.map((check) => checks.get(check.code) ?? check)).score,
  );
  return { ...summarise(merged), score: Math.min(summarise(own).score, ...scores) };
}

function failedIn({ code, result, message }: PreSendCheck, failures: readonly string[]): PreSendCheck {
  return fail(code, [...(result === 'FAIL' ? [message] : []), ...failures].join(' '));
}
