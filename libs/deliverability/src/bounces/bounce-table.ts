import type { BounceRule } from './bounce-rule.js';
import { RULES_OF_CODES } from './rules-of-codes.js';
import { DEAD_ADDRESS_CODE, RULES_OF_WORDS } from './rules-of-words.js';
import { RULES_OVER_CODES } from './rules-over-codes.js';

/** Servers and gateways put these codes beside whatever they refuse, so that any words that they understand come first. */
const RULES_OF_DEAD_ADDRESS_CODES: readonly BounceRule[] = [
  { class: 'hard', enhanced: DEAD_ADDRESS_CODE, sample: '550 5.1.1 Sorry' },
];

/** Last the basic code; 521 and 556 are said by hosts and for domains that take no mail (RFC 7504). */
const RULES_OF_BASIC_CODES: readonly BounceRule[] = [
  { class: 'network', enhanced: /^4\.4\.7$/, sample: '450 4.4.7 Given up after five days' },
  { class: 'network', basic: /^421$/, sample: '421 Service not available, closing transmission channel' },
  { class: 'mailbox', basic: /^45[02]$/, sample: '450 Requested mail action not taken' },
  { class: 'content', basic: /^552$/, sample: '552 Requested mail action aborted' },
  { class: 'hard', basic: /^(?:521|556)$/, sample: '521 mail.example takes no part in SMTP' },
  { class: 'sender', basic: /^53[0-9]$/, sample: '535 Bad username' },
];

/**
 * The bounce table, in the order in which it is asked: the first row that matches says the class. Words that are clearer
 * than a code, then the enhanced code, then the other words, then the codes of a dead address alone, then the basic code.
 */
export const BOUNCE_TABLE: readonly BounceRule[] = [
  ...RULES_OVER_CODES,
  ...RULES_OF_CODES,
  ...RULES_OF_WORDS,
  ...RULES_OF_DEAD_ADDRESS_CODES,
  ...RULES_OF_BASIC_CODES,
];
