import type { BounceClass } from './bounce-rule.js';
import type { Report } from './report.js';
import { showsDistrust } from './slow-down.js';

/** What is kept of a report: nothing that tells who got the mail. */
export interface ReportFacts {
  readonly kind: 'BOUNCE' | 'COMPLAINT';
  readonly bounceClass: BounceClass | null;
  readonly basicCode: number | null;
  readonly enhancedCode: string | null;
  readonly excerpt: string | null;
  /** Whether the message that it returns is this delivery's; null when it returns none. */
  readonly namesMessage: boolean | null;
  /** Its destination refuses the mail for who we are. Not kept, but told. */
  readonly isDistrust: boolean;
}

const MAX_EXCERPT = 300;
const ADDRESS = /[^\s<>"',;:()]+@[^\s<>"',;:()]+/g;
/** Shorter names are parts of ordinary words. */
const TELLING_NAME = 3;

/** The facts of a report on a delivery; on none yet, of what a provider reports by its own id. */
export function factsOf(
  report: Exclude<Report, { kind: 'nothing' }>,
  deliveryId: string | null,
): ReportFacts {
  const id = report.originalMessageId;
  const namesMessage = id === null ? null : id.toLowerCase().startsWith(`<${deliveryId}@`);
  if (report.kind === 'complaint') {
    return {
      kind: 'COMPLAINT',
      bounceClass: null,
      basicCode: null,
      enhancedCode: null,
      excerpt: null,
      namesMessage,
      isDistrust: false,
    };
  }
  const { code, enhancedCode, text } = report.refusal;
  return {
    kind: 'BOUNCE',
    bounceClass: report.class,
    basicCode: code === 0 ? null : code,
    enhancedCode,
    excerpt: excerptOf(text, report.recipient),
    namesMessage,
    isDistrust: showsDistrust(report.class, report.refusal),
  };
}

/** The words without addresses and without the name of the mailbox, which some servers write alone. */
function excerptOf(text: string, recipient: string | null): string | null {
  const name = recipient?.split('@')[0] ?? '';
  const withoutAddresses = text.replaceAll(ADDRESS, '[address]');
  const excerpt = name.length < TELLING_NAME ? withoutAddresses : without(withoutAddresses, name);
  return excerpt === '' ? null : excerpt.replaceAll('\0', '').slice(0, MAX_EXCERPT).toWellFormed();
}

function without(given: string, name: string): string {
  const lower = given.toLowerCase();
  // Some letters become two in lower case; then the places would not agree.
  const text = lower.length === given.length ? given : lower;
  const sought = name.toLowerCase();
  let [kept, from] = ['', 0];
  for (let at = lower.indexOf(sought); at !== -1; at = lower.indexOf(sought, from)) {
    kept += `${text.slice(from, at)}[name]`;
    from = at + sought.length;
  }
  return kept + text.slice(from);
}
