import { CRITICAL_WEIGHTS, INFORMATION_WEIGHTS, WARNING_WEIGHTS } from './check-weights.js';

type CriticalCode = keyof typeof CRITICAL_WEIGHTS;
type InformationCode = keyof typeof INFORMATION_WEIGHTS;
export type CheckCode = CriticalCode | InformationCode | keyof typeof WARNING_WEIGHTS;

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

const WEIGHTS: Readonly<Record<CheckCode, number>> = {
  ...CRITICAL_WEIGHTS,
  ...WARNING_WEIGHTS,
  ...INFORMATION_WEIGHTS,
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

function severityOf(code: CheckCode): PreSendCheck['severity'] {
  if (Object.hasOwn(CRITICAL_WEIGHTS, code)) return 'CRITICAL';
  return Object.hasOwn(INFORMATION_WEIGHTS, code) ? 'INFO' : 'WARNING';
}

function checked(code: CheckCode, result: PreSendCheck['result'], message: string): PreSendCheck {
  return { code, severity: severityOf(code), result, message };
}

export const pass = (code: CheckCode, message: string): PreSendCheck => checked(code, 'PASS', message);
export const fail = (code: CheckCode, message: string): PreSendCheck => checked(code, 'FAIL', message);
/** What passes, and what to do next. */
export const inform = (code: CheckCode, message: string): PreSendCheck => ({
  ...pass(code, message),
  severity: 'INFO',
});
export const skip = (code: CheckCode, message: string): PreSendCheck => checked(code, 'SKIPPED', message);

/** One or the other, with its own words. */
export function check(code: CheckCode, good: boolean, passed: string, failed: string): PreSendCheck {
  return good ? pass(code, passed) : fail(code, failed);
}

/** As many faults as a message shows. */
const SHOWN = 20;

export function listed(subject: string, faults: readonly string[]): string {
  const more = faults.length > SHOWN ? `; and ${faults.length - SHOWN} more` : '';
  return `${subject}: ${faults.slice(0, SHOWN).join('; ')}${more}.`;
}
