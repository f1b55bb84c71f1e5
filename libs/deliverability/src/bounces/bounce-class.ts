/** What a refusal says about the address, the message or us; each class has its own consequence. */
export type BounceClass = 'hard' | 'mailbox' | 'policy' | 'sender' | 'content' | 'network' | 'unknown';

/** A next hop's refusal: basic code, enhanced code (RFC 3463) where it gave one, and its words. */
export interface Refusal {
  readonly code: number;
  readonly enhancedCode: string | null;
  readonly text: string;
}

interface Rule {
  readonly class: BounceClass;
  readonly matches: RegExp;
}

/** The enhanced code is the most telling (RFC 3463 §3), so it is asked first. The first match wins. */
const BY_ENHANCED_CODE: readonly Rule[] = [
  { class: 'sender', matches: /^5\.1\.[78]$/ },
  { class: 'hard', matches: /^5\.1\.(?:1|2|3|6|10)$|^5\.2\.1$/ },
  { class: 'policy', matches: /^[45]\.7\.\d+$/ },
  { class: 'content', matches: /^5\.3\.4$|^5\.2\.3$|^5\.6\.\d+$/ },
  { class: 'mailbox', matches: /^[45]\.2\.2$|^4\.2\.1$/ },
  { class: 'network', matches: /^4\.[34]\.\d+$/ },
];

/** What servers write that give no enhanced code, or a vague one. */
const BY_TEXT: readonly Rule[] = [
  {
    class: 'hard',
    matches:
      /\b(?:user|recipient|mailbox|account|address)\b[^.]{0,40}\b(?:unknown|not found|does(?: not|n't) exist|disabled|unavailable permanently)\b/i,
  },
  { class: 'hard', matches: /\bno such (?:user|mailbox|recipient|domain|address)\b|\bnull mx\b/i },
  { class: 'mailbox', matches: /\bmailbox (?:is )?full\b|\bover ?quota\b|\bquota exceeded\b/i },
  {
    class: 'policy',
    matches:
      /\bblock(?:ed|list)|\bblacklist|\bspamhaus\b|\bspam\b|\breputation\b|\bDMARC\b|\bSPF\b|\brate limit/i,
  },
  {
    class: 'sender',
    matches:
      /\bauthentication (?:required|failed)\b|\bsender (?:address )?rejected\b|\brelay(?:ing)? denied\b/i,
  },
  {
    class: 'content',
    matches: /\bmessage (?:size|too (?:large|big))\b|\bexceeds (?:the )?(?:maximum|size)\b/i,
  },
];

const BY_BASIC_CODE: readonly Rule[] = [
  { class: 'network', matches: /^421$/ },
  { class: 'mailbox', matches: /^45[02]$/ },
  { class: 'content', matches: /^552$/ },
  { class: 'sender', matches: /^53[0-9]$/ },
];

/** Classifies a refusal: enhanced code, then text, then basic code; anything else is `unknown`. */
export function classifyRefusal({ code, enhancedCode, text }: Refusal): BounceClass {
  return (
    firstMatch(BY_ENHANCED_CODE, enhancedCode ?? '') ??
    firstMatch(BY_TEXT, text) ??
    firstMatch(BY_BASIC_CODE, String(code)) ??
    'unknown'
  );
}

function firstMatch(rules: readonly Rule[], input: string): BounceClass | undefined {
  return rules.find(({ matches }) => matches.test(input))?.class;
}
