import type { BounceRule } from './bounce-rule.js';
import { DEAD_ADDRESS_CODE, GONE, NO_MAIL_SERVICE, UNKNOWN_MAILBOX } from './rules-of-words.js';

/**
 * The enhanced code, the most telling of all codes (RFC 3463 §3); where servers are known to use one for two things,
 * their words decide. The codes of RFC 7372 and RFC 7505 concern us, not the address.
 */
export const RULES_OF_CODES: readonly BounceRule[] = [
  {
    class: 'hard',
    enhanced: /^5\.4\.1$/,
    text: /\brecipient address rejected: access denied\b/i,
    sample:
      '550 5.4.1 Recipient address rejected: Access denied. [AM5EUR02FT012.eop-EUR02.prod.protection.outlook.com]',
  },
  {
    class: 'hard',
    enhanced: /^5\.4\.(?:0|4|310)$/,
    text: /\b(?:domain|host)\b.{0,60}\b(?:not found|does(?: not|n't) exist)\b|\bNXDOMAIN\b/i,
    sample: '550 5.4.310 DNS domain shop.invalid does not exist [Message=InfoDomainNonexistent]',
  },
  {
    class: 'hard',
    enhanced: /^5\.5\.0$/,
    text: /\bmailbox unavailable\b|\b(?:user|recipient|mailbox) (?:unknown|not found)\b/i,
    sample: '550 5.5.0 Requested action not taken: mailbox unavailable (S2017062302).',
  },
  {
    class: 'sender',
    enhanced: /^5\.7\.(?:0|1|8|9|12|57|139)$/,
    text: /\bauthentication\b|\b(?:un)?authenticated\b|\bcredentials\b|\bDMARC\b|\bDKIM\b|\bSPF\b|\bnot authori[sz]ed to send\b|\bunable to relay\b|\brelay(?:ing)? (?:access )?denied\b/i,
    sample: '550 5.7.1 Unauthenticated email from shop.example is not accepted due to domain’s DMARC policy.',
  },
  {
    class: 'hard',
    enhanced: /^5\.7\.(?:1|13|17|27)$/,
    text: NO_MAIL_SERVICE,
    sample: '550 5.7.27 Host does not accept mail',
  },
  {
    class: 'sender',
    enhanced: /^5\.7\.(?:2[0-79]|30|509|515)$/,
    sample: '550 5.7.26 This mail has been blocked because the sender is unauthenticated.',
  },
  { class: 'sender', enhanced: /^5\.1\.[78]$/, sample: '553 5.1.8 Domain of sender address does not exist' },
  {
    class: 'policy',
    enhanced: /^5\.[0-6]\.\d{1,3}$/,
    text: /\b(?:after|in reply to|response to) MAIL FROM\b/i,
    sample: '553 5.1.0 SMTP error from remote mail server after MAIL FROM: shop.example does not exist',
  },
  {
    class: 'hard',
    enhanced: DEAD_ADDRESS_CODE,
    text: UNKNOWN_MAILBOX,
    sample: '550 5.1.1 The email account that you tried to reach does not exist.',
  },
  {
    class: 'hard',
    enhanced: DEAD_ADDRESS_CODE,
    text: GONE,
    sample: '550 5.2.1 Mailbox blocked for inactivity',
  },
  {
    class: 'hard',
    enhanced: /^5\.7\.\d{1,3}$/,
    text: UNKNOWN_MAILBOX,
    sample: '550 5.7.1 Invalid recipient (Mode: normal)',
  },
  {
    class: 'hard',
    enhanced: /^5\.7\.13$/,
    text: /\brecipient\b/i,
    sample: '525 5.7.13 Disabled recipient address',
  },
  { class: 'policy', enhanced: /^[45]\.7\.\d{1,3}$/, sample: '421 4.7.0 [TSS04] Try again later' },
  {
    class: 'policy',
    enhanced: /^5\.2\.12[12]$/,
    sample: '550 5.2.121 The recipient’s message receive limit has been exceeded for this sender',
  },
  {
    class: 'content',
    enhanced: /^5\.3\.4$|^5\.2\.3$|^5\.6\.\d{1,3}$/,
    sample: '552 5.3.4 Too large',
  },
  {
    class: 'mailbox',
    enhanced: /^[45]\.2\.2$|^4\.2\.1$/,
    sample: '452 4.2.2 The email account that you tried to reach has no room.',
  },
  {
    class: 'network',
    enhanced: /^4\.3\.\d{1,3}$|^4\.4\.(?!7$)\d{1,3}$|^5\.4\.(?:6|7|14|300|312|316|317)$/,
    sample: '450 4.4.1 Connection timed out',
  },
];
