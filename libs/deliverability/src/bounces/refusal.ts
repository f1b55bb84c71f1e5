import type { BounceClass } from './bounce-class.js';
import { BOUNCE_TABLE, type BounceRule } from './bounce-table.js';

/** A refusal, in a session or in a report: basic code, enhanced code (RFC 3463) where it has one, and its words. */
export interface Refusal {
  /** 0 when a report names none. */
  readonly code: number;
  readonly enhancedCode: string | null;
  readonly text: string;
}

/** Characters of a refusal's words that are read. */
export const MAX_TEXT = 2_000;
/** Addresses, which may mislead by their words: `no-such-user@blacklist.example`. Dots in a row end one: `ada@x.example...User`. */
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

/** An enhanced code overrides the basic code in whether the refusal is permanent. */
function basicCodeOf({ code, enhancedCode }: Refusal): string {
  if (enhancedCode !== null && enhancedCode.charAt(0) !== String(code).charAt(0))
    return `${enhancedCode.charAt(0)}00`;
  return String(code);
}

const BASIC_CODE = /(?:^|\bsaid:\s{0,9}|:\s{1,9}|[(<#]|<<< |\bcode:? {0,2}:?)([45]\d\d)(?=[\s\-:;)\]]|$)/im;
/** Not the middle of an IP address or of a longer number. */
const ENHANCED_CODE = /(?<![\d.])([45]\.\d{1,3}\.\d{1,3})(?![\d]|\.\d)/g;
/** `x.0.0`, and Exchange Online’s `5.0.350`: something went wrong, no more is said. */
const VAGUE = /^[45]\.0\.\d{1,3}$/;
/** Not `x.1.0`, something of this subject, not said what (RFC 3463 §2), except that of security, which tells enough. */
const SPECIFIC = /^[45]\.(?:[1-7]\.[1-9]\d{0,2}|7\.0)$/;
/** Statuses that Sendmail makes of a basic code alone; they say no more than the code. */
const TRANSLATIONS: Readonly<Record<number, string>> = { 550: '5.1.1', 551: '5.1.6', 553: '5.1.3' };
const REPEATED_CODES = /\b[45]\d\d[ -](?:[45]\.\d{1,3}\.\d{1,3}\s)?/g;

/**
 * A refusal from the words of a report: the basic code that leads them or that a remote host "said", and the enhanced
 * code: the first specific one of the words, which are the refusing server's own, else `status`, which the reporting
 * server chose; only then a code that says less.
 */
export function refusalOf(words: string, status: string | null): Refusal {
  const text = words.slice(0, MAX_TEXT);
  const inWords = [...text.matchAll(ENHANCED_CODE)].map(([, code = '']) => code);
  const code = Number(BASIC_CODE.exec(text)?.[1] ?? 0);
  const isTranslated = inWords.length === 0 && status === TRANSLATIONS[code];
  const codes = [...inWords, ...(status === null || isTranslated ? [] : [status])];
  return {
    code,
    enhancedCode:
      codes.find((candidate) => SPECIFIC.test(candidate)) ??
      codes.find((candidate) => !VAGUE.test(candidate)) ??
      codes[0] ??
      null,
    text: text.replaceAll(REPEATED_CODES, ' ').replaceAll(/\s+/g, ' ').trim(),
  };
}
