import { anyOf, type BounceRule } from './bounce-rule.js';

/**
 * Words that are clearer than any code beside them: servers say 5.1.1 of clients on a block list, of quotas and of rates.
 * None of these rows is about a dead address.
 */
export const RULES_OVER_CODES: readonly BounceRule[] = [
  {
    class: 'mailbox',
    text: /\breceiving mail (?:too quickly|at a rate)\b|\bReceivingRate|\btoo many messages (?:on|in) (?:the |his |her |their )?(?:server|mailbox|inbox)\b/i,
    sample:
      '550 5.2.1 The user you are trying to contact is receiving mail at a rate that prevents additional messages',
  },
  {
    class: 'policy',
    text: /\bblock ?-?list|\bblack ?-?list|\bblocklisted\b|\bdnsbls?\b|\brbl\b|\b(?:spamhaus|spamcop|barracudacentral|sorbs|surbl|uribl)\b|\b(?:bad|poor|low) (?:\w{1,20} )?reputation\b|\breputation (?:of|is|was|score|too)\b|\bblocked (?:using|by|on|at) \S{1,80}\.\w/i,
    sample: '554 5.1.1 Service unavailable; Client host [192.0.2.1] blocked using zen.spamhaus.org',
  },
  {
    class: 'policy',
    text: /\b(?:your|client|sending|source|connecting|remote)? ?(?:ip|ip address|host|server|network)(?: address)?\b.{0,60}\b(?:(?<!not )listed (?:in|on|by|at)|banned|blocked|blacklisted|not allowed|may not be mail exchanger)\b|\bbanned\b.{0,40}\b(?:ip|host)\b/i,
    sample: '550 5.1.1 Your IP address 192.0.2.1 is listed in our database',
  },
  {
    class: 'policy',
    text: /\btoo many (?:\w{1,20} )?(?:recipients|messages|connections|e?-?mails|sessions)\b|\brate[ -]?limit|\b(?:hourly|daily)\b.{0,40}\b(?:limit|quota)\b|\b(?:this|per) (?:hour|minute|day)\b|\bfrequency limited\b|\bthrottl(?:ed|ing)\b|\b(?:relay|sending|sent) (?:quota|limit)\b|\btemporarily deferred\b|\bgr[ae]y-?list/i,
    sample: '550 5.1.1 192.0.2.1 has sent to too many recipients this hour',
  },
  {
    class: 'policy',
    text: /\bmaximum credits exceeded\b/i,
    sample: '451 Authentication failed: Maximum credits exceeded',
  },
  {
    class: 'policy',
    text: /\brefused due to recipient preferences\b|\b(?:not|only) accepting mail from\b|\bwill not accept delivery of this message\b|\bservice refus|\bAUP#\w{1,4}-\d/i,
    sample: '421 4.2.1 Service refused, please try later. LPN007_510',
  },
  {
    class: 'policy',
    text: /\banti-?spam\b|\bspam ?(?:classification|content|score|message|signature)\b|\b(?:as|likely|considered|to be|like) (?:spam|unsolicited)\b|\bunsolicited\b/i,
    sample: '550 Rejected due to spam classification. Set up SPF records if you have not done so',
  },
  {
    class: 'mailbox',
    text: anyOf(
      /\b(?:mailbox|inbox|maildir|mail ?folder|disk|account)\b.{0,30}\b(?:full(?! (?:details?|text|name|report|list|headers?|address|explanation|information))|quota|exceed(?:s|ed)|over ?size)\b/,
      /\bfull (?:mail ?box|inbox|mail ?folder)\b|\boverquota|\bmailbox limit\b|\buser\b.{0,30}\b(?:quota|exceed(?:s|ed))\b|\bover(?: ?-?| the | his | her | its | their | storage | disk )quota\b/,
      /\bquota\b.{0,30}\b(?:exceed(?:s|ed|ing)?|full|reached|violat\w{1,4})\b|\bquota violation\b|\bdisk ?space quota\b|\bexceed(?:s|ed|ing)? (?:\S{1,20} )?(?:storage|mailbox|disk|quota)\b|\bmaximum allowed storage\b/,
      /\b(?:insufficient|not enough|out of|no|not have enough) (?:(?:disk|system|mailbox|storage) )?(?:space|storage)\b|\bspace\b.{0,20}\bused up\b|\breceiving limits?\b/,
      /\bpostfach.{0,30}\bvoll\b|\bbo[iî]te.{0,30}\bpleine\b|\b(?:buz[oó]n|mailbox|casilla).{0,30}\b(?:llen[oa]|agotad[oa])\b|\bcasella.{0,30}\bpiena\b|\bcaixa.{0,30}\bcheia\b|(?:ящик|почтов).{0,30}переполнен|(?:邮箱|信箱).{0,12}(?:已满|已滿)|容量を超|いっぱい/,
    ),
    sample: '550 5.1.1 Over quota',
  },
  {
    class: 'mailbox',
    text: anyOf(
      /\b(?:user|recipient|mailbox|account)\b[^.:]{0,40}\b(?:disabled|suspended|inactive|deactivated|locked|closed|unavailable)\b.{0,12}\btemporar(?:y|il?y)\b/,
      /\b(?:user|recipient|mailbox|account)\b[^.]{0,40}\btemporar(?:y|il?y) (?:disabled|suspended|inactive|deactivated|locked|closed|unavailable)\b/,
      /\b(?:disabled|suspended) temporar(?:y|il?y)\b/,
    ),
    sample: '550 5.2.1 Mailbox disabled temporarily',
  },
  {
    class: 'content',
    text: /\bmessage (?:size|is too (?:large|big|long)|too (?:large|big|long))\b|\bexceed(?:s|ed) (?:the )?(?:maximum|size|fixed)\b|\b(?:message|maximum|mail) size\b.{0,30}\bexceed|\bsize limit\b|\bduplicate header\b|\bbare LF\b/i,
    sample: '554 5.0.0 Transaction failed: Duplicate header DKIM-Signature',
  },
  {
    class: 'sender',
    text: /\bsender(?: address| domain|'s address|'s domain)?(?: is| was)? (?:rejected|denied|refused|invalid|unknown|verify failed|verification failed|(?:could|can) ?not be verified)\b|\b(?:unknown|invalid|unrout(?:e)?able|unauthori[sz]ed) sender\b|\bsender (?:address )?(?:domain )?(?:does(?: not|n't) exist|not found|unknown)\b/i,
    sample: '550 5.1.1 Sender address rejected: undeliverable address: user unknown',
  },
  {
    class: 'sender',
    text: /\b(?:sender|mail ?from|envelope|return[- ]path|originator)\b.{0,30}\b(?:domain|host|address)\b.{0,40}\b(?:not found|does(?: not|n't) exist|unknown|invalid|cannot be (?:resolved|found)|could not be (?:resolved|found))\b|\b(?:from|your|sending|client|ip) (?:ip |mail )?(?:domain|address|host(?:name)?)\b.{0,40}\b(?:not found|does(?: not|n't) (?:exist|resolve)|unknown|invalid|cannot be (?:resolved|found)|could not be (?:resolved|found))\b|\b(?:unknown|invalid|no such) (?:client|ip|from|sending|source|envelope|return) \w{1,12}\b/i,
    sample: '550 5.1.1 Your domain does not exist',
  },
  {
    class: 'sender',
    text: /\byour (?:\w{1,12} )?(?:account|plan|subscription|service)\b.{0,40}\b(?:suspended|disabled|inactive|locked|blocked|terminated|expired|not (?:active|verified|allowed))\b/i,
    sample: '550 Your account has been disabled',
  },
  {
    class: 'sender',
    text: /\b(?:SPF|DKIM|DMARC|sender policy framework|sender ID)\b.{0,60}\b(?:fail(?:ed|ure|s)?|reject(?:ed|s)?|violation|not pass|permerror|does not designate)\b|\bfail(?:ed|s|ure)?\b.{0,40}\b(?:SPF|DKIM|DMARC|sender policy framework)\b/i,
    sample: '550 5.1.1 Sender Policy Framework (SPF) fail',
  },
  {
    class: 'sender',
    text: /\b(?:HELO|EHLO)\b.{0,60}\b(?:rejected|refused|invalid|denied|not found|does not resolve|needs? fully)\b|\b(?:rejected|invalid|bad|malformed) (?:HELO|EHLO)\b|\bmy name was rejected\b|\bsender was rejected\b/i,
    sample: '501 5.1.2 Helo command rejected: Host not found',
  },
  {
    class: 'network',
    text: /\b(?:not found|name (?:service|server)|lookup|resolv\w{1,5})\b.{0,80}\btry again\b|\btemporary (?:name|dns|lookup)\b|\bmalformed or unexpected name server reply\b/i,
    sample: '550 5.1.2 Name service error for name=shop.example type=MX: Host not found, try again',
  },
  {
    class: 'network',
    text: /\b(?:LDAP|mysql|sql|(?:user|account) database|(?:directory|account) (?:service|server))\b.{0,30}\b(?:unavailable|not available|fail(?:ed|ure)|error|tim(?:ed|e) ?out|down|unreachable)\b/i,
    sample: '550 5.1.1 User unknown: LDAP server unavailable',
  },
  {
    class: 'sender',
    enhanced: /^5\.5\.\d{1,3}$/,
    text: /\binvalid (?:domain|host) ?name\b/i,
    sample: '501 5.5.4 Invalid domain name',
  },
  {
    class: 'network',
    text: /\b(?:too many hops|maximum hop count|hop count exceeded|(?:routing|mail|forwarding|mail forwarding) loop|mailloop|loops back to|loop (?:alert|detected))\b/i,
    sample: '554 5.4.6 Too many hops, this message is looping: maximum hop count exceeded',
  },
  {
    class: 'network',
    text: /\b(?:procmail|maildrop):|\bpipe to \||\bcommand (?:died|output|time limit)\b/i,
    sample: '550 5.1.1 procmail: Couldn\'t create "/var/mail/ada"; id: mail.example: No such user',
  },
];
