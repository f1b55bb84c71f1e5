import type { BounceClass, BounceRule } from './bounce-rule.js';
import { BOUNCE_TABLE } from './bounce-table.js';

/** A refusal, in a session or in a report: basic code, enhanced code (RFC 3463) where it has one, and its words. */
export interface Refusal {
  /** 0 when a report names none. */
  readonly code: number;
  readonly enhancedCode: string | null;
  readonly text: string;
}

/** As much of a refusal's words as is looked at. */
export const MAX_TEXT = 2_000;
/** Addresses, which may contain misleading words: `no-such-user@blacklist.example`. Dots in a row end one: `ada@x.example...User`. */
const ADDRESS = /[^\s<>"',;:()@]{1,64}@(?:[^\s<>"',;:()@.]|\.(?!\.)){1,255}/g;

/** Classifies a refusal by the bounce table; what no row knows is `unknown`. */
export function classifyRefusal({ code, enhancedCode, text }: Refusal): BounceClass {
  const refusal = { code, enhancedCode, text: wordsOf(text) };
  return BOUNCE_TABLE.find((rule) => matches(rule, refusal))?.class ?? 'unknown';
}

/** `host mx.spam-filter.example[192.0.2.1] said:` */
const HOST = /\bhost [\w.-]{1,255} ?\[[\da-f.:]{2,45}\](?: said)?:/gi;

/** `5.1.0 - Unknown address error '550 …'`: IronPort's own name of the code, before what was really said. */
const LABEL = /\b[45]\.\d\.\d - [a-z ]{3,60}(?=')/gi;

function wordsOf(text: string): string {
  return text
    .slice(0, MAX_TEXT)
    .replaceAll('’', "'")
    .replaceAll(/\s+/g, ' ')
    .replaceAll(HOST, ' ')
    .replaceAll(LABEL, ' ')
    .replaceAll(ADDRESS, ' ')
    .replaceAll(/ +/g, ' ');
}

function matches({ enhanced, text, basic }: BounceRule, refusal: Refusal): boolean {
  return (
    (enhanced === undefined || enhanced.test(refusal.enhancedCode ?? '')) &&
    (basic === undefined || basic.test(basicCodeOf(refusal))) &&
    (text === undefined || text.test(refusal.text))
  );
}

/** What is temporary by its enhanced code is not permanent, whatever its basic code is; without either, nothing is. */
function basicCodeOf({ code, enhancedCode }: Refusal): string {
  if (enhancedCode !== null && enhancedCode.charAt(0) !== String(code).charAt(0))
    return `${enhancedCode.charAt(0)}00`;
  return String(code);
}
