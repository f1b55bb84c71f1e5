export type CheckCode =
  | 'recipients'
  | 'sender-domain-verified'
  | 'subscription-active'
  | 'email-quota'
  | 'topic'
  | 'merge-tags'
  | 'content-empty'
  | 'unsubscribe-link'
  | 'links';

/** One thing that was looked at before a campaign may be queued. */
export interface PreSendCheck {
  readonly code: CheckCode;
  readonly severity: 'CRITICAL' | 'WARNING' | 'INFO';
  readonly result: 'PASS' | 'FAIL' | 'SKIPPED';
  /** One sentence for the campaign's author: what was found and, when it failed, what to do. */
  readonly message: string;
}

export interface PreSendAnalysis {
  readonly checks: readonly PreSendCheck[];
  /** 100 less the weight of each failed check, not below 0. */
  readonly score: number;
  readonly status: 'PASSED' | 'WARNING' | 'FAILED';
}

/** What a failed check takes from the score. */
const WEIGHTS: Record<CheckCode, number> = {
  recipients: 40,
  'sender-domain-verified': 40,
  'subscription-active': 40,
  'email-quota': 40,
  topic: 40,
  'merge-tags': 30,
  'content-empty': 40,
  'unsubscribe-link': 40,
  links: 20,
};

/** Sums the checks up. A failed critical one fails the analysis, whatever the score. */
export function summarise(checks: readonly PreSendCheck[]): PreSendAnalysis {
  const failed = checks.filter(({ result }) => result === 'FAIL');
  const lost = failed.reduce((sum, { code }) => sum + WEIGHTS[code], 0);
  const critical = failed.some(({ severity }) => severity === 'CRITICAL');
  return {
    checks,
    score: Math.max(0, 100 - lost),
    status: critical ? 'FAILED' : failed.length > 0 ? 'WARNING' : 'PASSED',
  };
}
