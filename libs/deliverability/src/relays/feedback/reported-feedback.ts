import { factsOf, type ReportFacts } from '../../bounces/report-facts.js';
import type { FeedbackEvent } from '../kinds/feedback.js';

/**
 * What is kept of a provider's event, as of a report to the return path; null for a reader who unsubscribed. It tells nothing of
 * what destinations make of the installation: a project could slow down others with what it posts.
 */
export function factsOfFeedback(event: Exclude<FeedbackEvent, { kind: 'delivered' }>): ReportFacts | null {
  if (event.kind === 'unsubscribed') return null;
  if (event.kind === 'complaint') return factsOf({ kind: 'complaint', originalMessageId: null }, null);
  const { basicCode, enhancedCode, excerpt, address } = event;
  const refusal = { code: basicCode ?? 0, enhancedCode, text: excerpt ?? '' };
  const report = { kind: 'bounce', class: event.class, refusal, recipient: address } as const;
  return { ...factsOf({ ...report, originalMessageId: null }, null), isDistrust: false };
}
