import type { Refusal } from './bounce-class.js';

const BASIC_CODE = /(?:^|\bsaid:\s{0,9}|:\s{1,9})([45]\d\d)(?=[\s-]|$)/;
/** Not the middle of an IP address or of a longer number. */
const ENHANCED_CODE = /(?<![\d.])([45]\.\d{1,3}\.\d{1,3})(?![\d]|\.\d)/g;
/** `x.0.0`, and Exchange Online’s `5.0.350`: something went wrong, no more is said. */
const VAGUE = /^[45]\.0\.\d+$/;
const REPEATED_CODES = /\b[45]\d\d[ -](?:[45]\.\d{1,3}\.\d{1,3}\s)?/g;
const MAX_TEXT = 2_000;

/**
 * A refusal from the words of a report: the basic code that leads them or that a remote host "said", and the
 * enhanced code, which is `status` unless that is a vague one and the words have a better.
 */
export function refusalOf(words: string, status: string | null): Refusal {
  const text = words.slice(0, MAX_TEXT);
  const inWords = [...text.matchAll(ENHANCED_CODE)].map(([, code = '']) => code);
  const codes = [...(status === null ? [] : [status]), ...inWords];
  const code = Number(BASIC_CODE.exec(text)?.[1] ?? 0);
  return {
    code,
    enhancedCode: codes.find((candidate) => !VAGUE.test(candidate)) ?? codes[0] ?? null,
    text: text.replaceAll(REPEATED_CODES, ' ').replaceAll(/\s+/g, ' ').trim(),
  };
}
