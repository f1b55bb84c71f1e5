/** What a refusal says about the address, the message or us; each class has its own consequence. */
export type BounceClass = 'hard' | 'mailbox' | 'policy' | 'sender' | 'content' | 'network' | 'unknown';

/** One row: what must match, the class that it means, and what a real server says that falls under it. */
export interface BounceRule {
  readonly class: BounceClass;
  /** Of the enhanced status code (RFC 3463). */
  readonly enhanced?: RegExp;
  /** Of the words. */
  readonly text?: RegExp;
  /** Of the basic code (RFC 5321 §4.2). */
  readonly basic?: RegExp;
  /** Reply line: basic code, enhanced code if there is one, words. */
  readonly sample: string;
}

/**
 * First the enhanced code, which is the most telling (RFC 3463 §3); where servers are known to use one for two things,
 * their words decide. The codes of RFC 7372 and RFC 7505 concern us, not the address.
 */
const BY_ENHANCED_CODE: readonly BounceRule[] = [
  {
    class: 'mailbox',
    enhanced: /^5\.2\.1$/,
    text: /\breceiving mail (?:too quickly|at a rate)\b/i,
    sample:
      '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages',
  },
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
    text: /\bauthentication\b|\bcredentials\b|\bDMARC\b|\bDKIM\b|\bSPF\b|\bnot authori[sz]ed to send\b|\bunable to relay\b|\brelay(?:ing)? (?:access )?denied\b/i,
    sample: '550 5.7.1 Unauthenticated email from shop.example is not accepted due to domain’s DMARC policy.',
  },
  {
    class: 'sender',
    enhanced: /^5\.7\.(?:2[0-79]|30|509|515)$/,
    sample: '550 5.7.26 This mail has been blocked because the sender is unauthenticated.',
  },
  { class: 'sender', enhanced: /^5\.1\.[78]$/, sample: '553 5.1.8 Domain of sender address does not exist' },
  {
    class: 'hard',
    enhanced: /^5\.1\.(?:1|2|3|6|10)$|^5\.2\.1$/,
    sample: '550 5.1.1 The email account that you tried to reach does not exist.',
  },
  { class: 'policy', enhanced: /^[45]\.7\.\d+$/, sample: '421 4.7.0 [TSS04] Messages temporarily deferred' },
  {
    class: 'policy',
    enhanced: /^5\.2\.12[12]$/,
    sample: '550 5.2.121 The recipient’s hourly message receive limit has been exceeded for this sender',
  },
  {
    class: 'content',
    enhanced: /^5\.3\.4$|^5\.2\.3$|^5\.6\.\d+$/,
    sample: '552 5.3.4 Message size exceeds fixed limit',
  },
  {
    class: 'mailbox',
    enhanced: /^[45]\.2\.2$|^4\.2\.1$/,
    sample: '552 5.2.2 The email account that you tried to reach is over quota.',
  },
  {
    class: 'network',
    enhanced: /^4\.[34]\.\d+$|^5\.4\.(?:6|7|14|300|312|316|317)$/,
    sample: '450 4.4.1 Connection timed out',
  },
];

/**
 * Then the words, for servers that give no enhanced code or a vague one. What concerns the sender or its reputation
 * stands before what concerns the address, since both speak of an "address" that is "rejected" or "not found".
 */
const BY_TEXT: readonly BounceRule[] = [
  {
    class: 'sender',
    text: /\bsender (?:address |domain )?(?:rejected|denied|verify failed)\b|\bsender's? (?:address|domain)\b|\brelay(?:ing)? (?:access )?(?:denied|not (?:allowed|permitted))\b|\bunable to relay\b/i,
    sample: '550 Sender address rejected: Domain not found',
  },
  {
    class: 'sender',
    text: /\bauthentication (?:is )?(?:required|failed)\b|\bDMARC\b|\bDKIM\b|\bSPF\b|\bhelo command rejected\b|\breverse (?:hostname|dns)\b|\bPTR\b/i,
    sample: '550 Message rejected due to failed DMARC evaluation',
  },
  {
    class: 'policy',
    text: /\bblock ?list|\bblack ?list|\bdnsbl\b|\brbl\b|\bspamhaus\b|\bbarracuda|\bspamcop\b|\bproofpoint\b|\breputation\b|\btemporarily deferred\b|\brate limit|\btoo many (?:connections|messages|recipients)\b|\bgr[ae]y-?list/i,
    sample: '554 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
  },
  {
    class: 'mailbox',
    text: /\b(?:mailbox|inbox|maildir|disk)\b.{0,30}\b(?:full|quota|exceeded)\b|\bover ?-?quota\b|\bquota (?:is )?exceeded\b|\bexceed(?:s|ed) (?:the |its |his |their )?(?:storage|mailbox|disk)\b|\binsufficient (?:disk|system|mailbox) (?:space|storage)\b/i,
    sample: '552 Mailbox is full',
  },
  {
    class: 'hard',
    basic: /^5/,
    text: /\b(?:user|recipient|mailbox|account|address|addressee)\b[^.]{0,40}\b(?:unknown|not found|not known|not exist|does(?: not|n't) exist|doesn't have|disabled|deactivated|suspended|inactive|unavailable permanently|no longer (?:valid|available|active|exists))\b/i,
    sample: '550 The recipient address does not exist',
  },
  {
    class: 'hard',
    basic: /^5/,
    text: /\b(?:no such|unknown|invalid) (?:user|mailbox|recipient|domain|address|local part|account)\b|\bno mailbox here\b|\b(?:user|mailbox|recipient) (?:is )?(?:unknown|invalid)\b|\bnot a (?:valid|known) (?:user|mailbox|recipient)\b|\bnull ?mx\b|\bunrouteable address\b|\bmailbox unavailable\b|\bnot listed in\b.{0,30}\bdirectory\b|\b(?:doesn't|does not) have an? \S{1,40} account\b|\bcouldn't find any host\b|\bno one (?:here )?by that name\b/i,
    sample: '550 No such user here',
  },
  {
    class: 'hard',
    basic: /^5/,
    text: /\b(?:host|domain)(?: name)?\b.{0,40}\b(?:not found|does(?: not|n't) exist|unknown)\b|\bunknown (?:host|domain)\b|\bNXDOMAIN\b|\bno such domain\b/i,
    sample: '550 Host or domain name not found',
  },
  {
    class: 'content',
    text: /\bmessage (?:size|too (?:large|big|long))\b|\bexceeds (?:the )?(?:maximum|size|fixed)\b|\bsize limit\b|\battachment type\b|\bvirus\b|\bbare LF\b/i,
    sample: '552 Message size exceeds fixed maximum message size',
  },
  {
    class: 'network',
    text: /\btimed out\b|\bconnection (?:refused|reset|lost|dropped)\b|\bretry time(?:out)? (?:not reached|exceeded)\b|\bno route to host\b|\btry again later\b|\bhas been in the queue too long\b|\bin the queue too long\b/i,
    sample: '550 retry timeout exceeded',
  },
  {
    class: 'policy',
    text: /\bblocked\b|\bspam\b|\bunsolicited\b|\bpolicy\b|\bjunk\b|\bbanned\b/i,
    sample: '554 Message refused as spam',
  },
];

/** Last the basic code. */
const BY_BASIC_CODE: readonly BounceRule[] = [
  { class: 'network', basic: /^421$/, sample: '421 Service not available, closing transmission channel' },
  { class: 'mailbox', basic: /^45[02]$/, sample: '450 Requested mail action not taken' },
  { class: 'content', basic: /^552$/, sample: '552 Requested mail action aborted' },
  { class: 'sender', basic: /^53[0-9]$/, sample: '535 Bad username' },
];

/** The bounce table, in the order in which it is asked: the first row that matches says the class. */
export const BOUNCE_TABLE: readonly BounceRule[] = [...BY_ENHANCED_CODE, ...BY_TEXT, ...BY_BASIC_CODE];
