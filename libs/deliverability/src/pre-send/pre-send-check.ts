/** Points that a failed check takes from the score of 100. A critical one refuses the campaign whatever is left. */
export const CRITICAL_WEIGHTS = {
  topic: 40,
  recipients: 40,
  'sender-domain-verified': 40,
  'subscription-active': 40,
  'email-quota': 40,
  'content-empty': 40,
  'merge-tags': 30,
  'unsubscribe-link': 40,
  'postal-address': 40,
  links: 20,
  'text-contrast': 40,
} as const;

/** Checks that inform and never fail. */
export const INFORMATION_WEIGHTS = { 'destination-limits': 0, 'relay-feedback': 0 } as const;

/** Weights of the warnings about content. */
export const CONTENT_WEIGHTS = {
  'subject-length': 5,
  'preview-text': 3,
  'spam-words': 10,
  'image-text-ratio': 5,
  'plain-text': 5,
  'html-size': 10,
  'removed-content': 5,
  'gone-images': 10,
  'empty-subject': 10,
  'empty-links': 10,
  'alt-text': 3,
  'link-domains': 10,
  personalisation: 2,
} as const;

export const WARNING_WEIGHTS = {
  ...CONTENT_WEIGHTS,
  'domain-warming': 10,
  'dmarc-policy': 5,
  'sender-replies': 5,
  relays: 10,
  variants: 5,
} as const;

const WEIGHTS = { ...CRITICAL_WEIGHTS, ...WARNING_WEIGHTS, ...INFORMATION_WEIGHTS };

export type CheckCode = keyof typeof WEIGHTS;

/** One check of a campaign before it may be queued. */
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

function severityOf(code: CheckCode): PreSendCheck['severity'] {
  if (Object.hasOwn(CRITICAL_WEIGHTS, code)) return 'CRITICAL';
  return Object.hasOwn(INFORMATION_WEIGHTS, code) ? 'INFO' : 'WARNING';
}

function checked(code: CheckCode, result: PreSendCheck['result'], message: string): PreSendCheck {
  return { code, severity: severityOf(code), result, message };
}

export const pass = (code: CheckCode, message: string): PreSendCheck => checked(code, 'PASS', message);
export const fail = (code: CheckCode, message: string): PreSendCheck => checked(code, 'FAIL', message);
/** Passes, and suggests the next step. */
export const inform = (code: CheckCode, message: string): PreSendCheck => ({
  ...pass(code, message),
  severity: 'INFO',
});
export const skip = (code: CheckCode, message: string): PreSendCheck => checked(code, 'SKIPPED', message);

export function check(code: CheckCode, good: boolean, passed: string, failed: string): PreSendCheck {
  return good ? pass(code, passed) : fail(code, failed);
}

/** Most faults that a message shows. */
const SHOWN = 20;

export function listed(subject: string, faults: readonly string[]): string {
  const more = faults.length > SHOWN ? `; and ${faults.length - SHOWN} more` : '';
  return `${subject}: ${faults.slice(0, SHOWN).join('; ')}${more}.`;
}
