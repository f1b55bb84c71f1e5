import type { BounceClass } from './bounce-class.js';

/**
 * One row: what must match, the class that it means, and what a real server says that falls under it. Every repetition
 * in a pattern has an upper bound, so that a text costs its length and no more.
 */
export interface BounceRule {
  readonly class: BounceClass;
  /** Matches the enhanced status code (RFC 3463); the empty string stands for none. */
  readonly enhanced?: RegExp;
  /** Matches the words, without addresses. */
  readonly text?: RegExp;
  /** Matches the basic code (RFC 5321 §4.2). */
  readonly basic?: RegExp;
  /** Reply line: basic code, enhanced code if there is one, words. */
  readonly sample: string;
}

/** One pattern of several, so that a row can list its words one below the other. */
export function anyOf(...patterns: readonly RegExp[]): RegExp {
  return new RegExp(patterns.map(({ source }) => source).join('|'), 'i');
}

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

/** The codes of a dead address: no such mailbox, host or domain, moved, null MX, disabled (RFC 3463 §3.2, §3.3, RFC 7505). */
export const DEAD_ADDRESS_CODE = /^5\.1\.(?:1|2|3|6|10)$|^5\.2\.1$/;

/** No mailbox of this name; "unknown error" and "invalid client address" say nothing of one. */
export const UNKNOWN_MAILBOX = anyOf(
  /\b(?:no such|unknown|invalid|unrecogni[sz]ed|non-?existent) (?!(?:\w{1,12} )?(?:ip|client|sender|from|reply|return|envelope|source|helo|header|sending)\b)(?:(?:or|e-?mail) )?(?:\w{1,12} ){0,2}(?:user(?:id| ?name)?|mail-?box|recipients?|address(?:ee)?|account|alias|local[ -]part|person)\b/,
  /\bbad[ _](?:destination )?(?:mail-?box|recipient|address)\b/,
  /(?<!\b(?:ip|client|sender|from|source|your) )\b(?:user|recipients?|rcpt|mail-?box|account|address|addressee)(?: \w{1,12})?:? (?:is |was |are )?(?:unknown(?! (?:error|reason|problem|command|failure|status|cause))|invalid|not known|not found|not recogni[sz]ed|unrecogni[sz]ed|not listed|not present)\b/,
  /(?<!\b(?:ip|client|sender|from|source|your) )\b(?:user|recipient|rcpt|mail-?box|account|address|addressee)\b[^.]{0,40}\b(?:unknown(?! (?:error|reason|problem|command|failure|status|cause))|not found|not known|not exist|do?e?s(?: not|n'?t) exist|doesn't have)\b/,
  /\bnot an? (?:valid|known|local|active|existing) (?:e-?mail )?(?:user|mail-?box|recipient|customer|account|address)\b|\bnot our (?:user|mailbox|recipient|customer|account)\b/,
  /\bno (?:mail ?-?box|mail drop|user|one|account|recipient) (?:here|by that name|of that name|found|with that|at this|available for)\b|\bsorry, no mail-?box\b|\bno such (?:user ?)?id\b|\bNoSuchUser\b|\bmailbox name not allowed\b/,
  /\b(?:bad|valid)rcptto\b|\benvelope recipient (?:is in my|has been denied)\b|\bunknown local\b|\b(?:does not|doesn't) (?:exist|live|belong) (?:here|at|in|on)\b/,
  /\baddress(?:es)?\b.{0,20}\b(?:could not|couldn't|cannot|can't) be found\b|\brecip(?:ient)? ?NotFound\b|\bexRecipNotFound\b|\b(?:doesn't|does not) have an? \S{1,40} account\b/,
);

/** A host or domain that says that it takes no mail (RFC 7504, RFC 7505), or that has no server for it. */
export const NO_MAIL_SERVICE =
  /\bnull ?mx\b|\bindicated no SMTP service\b|(?<!\bsender )\b(?:host|domain|system)\b.{0,60}\b(?:does(?: not|n't)|not) (?:accept|receive|accepting|receiving) (?:any )?(?:e-?mail|mail|network messages)\b(?! from\b)|\b(?:couldn't|could not|cannot|can't) find an? (?:mail exchanger|MX)\b|\bno (?:valid )?(?:mx|mx (?:records?|hosts?)|mail exchangers?|mail servers?)(?: was| were)? (?:found|for|exists?)\b/i;

/** The same in the languages of large mail providers. */
const UNKNOWN_MAILBOX_ABROAD = anyOf(
  /\b(?:empf(?:ä|ae)nger|adresse|benutzer|postfach|mailbox)\b.{0,40}\b(?:unbekannt|existiert nicht|nicht (?:gefunden|vorhanden|bekannt))|\bunbekannter (?:empf|benutzer)/,
  /\b(?:utilisateur|destinataire|adresse|compte)\b.{0,40}\b(?:inconnue?\b|n'existe pas|inexistante?\b|introuvable|invalide\b)/,
  /\b(?:usuario|destinatario|direcci[oó]n|buz[oó]n|cuenta|casilla|persona)\b.{0,40}\b(?:desconocid[oa]|no existe|inexistente|no encontrad)|\bno existe (?:\w{1,12} ){0,2}(?:usuario|destinatario|direcci[oó]n|buz[oó]n|cuenta|casilla|persona)\b|\bexpirado por falta de uso\b/,
  /\b(?:utente|destin(?:atario|\.)|indirizzo|casella)(?=[ .]).{0,40}\b(?:sconosciut|inesistente|non esiste)|\bnessun utente\b/,
  /\b(?:usu[aá]rio|destinat[aá]rio|endereço|conta)\b.{0,40}(?:desconhecid|n[aã]o existe|inexistente)/,
  /\b(?:gebruiker|adres|geadresseerde)\b.{0,40}\b(?:onbekend|bestaat niet|niet gevonden)/,
  /\b(?:nie ma takiego|nieznany) (?:użytkownik|adres|odbiorc|konta)|\bnie istnieje\b/,
  /(?:пользовател|адрес|получател|ящик).{0,40}не (?:существует|найден)/,
  /見つかりません|(?:リスト|ディレクトリ).{0,12}ありません|存在しません|あて先不明|宛先不明|(?:用户|用戶|收件人|邮箱|信箱).{0,12}不存在|查無此人/,
);

/** A mailbox that was there; not a connection that a recipient's server closed, nor our own account at a relay. */
export const GONE = anyOf(
  /(?<!\byour (?:\w{1,12} )?)\b(?:user|recipient|mailbox|account|address|addressee)\b[^.]{0,40}(?<!\btemporar(?:y|ily) )\b(?:disabled|deactivated|suspended|inactive|not active|not activated|unavailable permanently|no longer (?:valid|available|active|exists?|in use|on server))\b/,
  /(?<!\byour (?:\w{1,12} )?)\b(?:user|mailbox|account)(?: (?:is|was|has|been|now|currently|permanently)){0,4} (?:frozen|locked|closed|archived|terminated|expired)\b/,
  /\b(?:disabled|deactivated|inactive|expired|closed|archived) (?:e-?mail )?(?:user|recipient|mailbox|account|address)\b|\bDisabledUser\b/,
  /\b(?:user|recipient|mailbox|account)\b[^.]{0,40}\binactivity\b|\b(?:user|account) is unavailable\b|(?:^[\W\d]{0,20}|\b(?:address|mailbox|account) (?:is )?)not used\b/,
  /\bno longer (?:relays|handles|hosts)\b|\bno longer (?:works?|with|employed) (?:here|at|for|by|the company)\b/,
);

/** Asked of the sender: to authenticate, to encrypt, to have a name, and not to be a stranger who relays. */
const ASKS_SENDER = anyOf(
  /\bsender(?:'s)? (?:e-?mail |ip )?(?:address|domain)\b|\bdomain of sender\b|\bunauthori[sz]ed sender\b|\b(?:valid|malformed|bogus|empty) (?:sender|mail from|from)\b|\bemetteur\b/,
  /\bsender\b.{0,20}\b(?:is not|was not|not|isn't|wasn't) (?:\w{1,12}[ -])?(?:allowed|approved|authenticated|authori[sz]ed|in allowed|accepted|permitted)\b/,
  /\brelay(?:ing)? (?:access )?(?:is )?(?:denied|prohibited|not (?:allowed|permitted))\b|\b(?:unable|not (?:permitted|allowed)|isn't allowed) to relay\b|\bas a relay\b|\bno relaying\b|\bopen relay\b|\bnot a gateway\b|\brcpthosts?\b|\bdon't handle mail for\b|\binsecure mail relay\b/,
  /\b(?:address|domain|identit(?:y|ies)) (?:is |are )?not verified\b/,
  /\b(?:SMTP|client|user|must|please|not|don't|without|need to|requires?) (?:be )?authenticat(?:e|ed|ion)\b|\bauthentication (?:is )?(?:required|failed|failure|credentials|data|turned on)\b|\bunauthenticated\b|\bfail(?:s|ed)? to pass authentication\b|\bfailed\b.{0,30}\bauthentication\b|\bauthentication\b.{0,20}\bfailed\b|\busername and password\b|\blog ?in (?:with|through|attempts)\b/,
  /\bDMARC|\bsender domain\b|\bsender\b.{0,60}\bhas no\b.{0,20}\b(?:MX|DNS)\b|\bDNS check failed\b|\bDKIM\b|\bSPF\b|\bBATV\b|\bbackscatter\b/,
  /\b(?:start)?tls\b.{0,30}\b(?:required|needed|mandatory|must)|\b(?:must|requires?|use|issue|must support) (?:an? )?(?:start)?tls\b|\b(?:start)?tls[ -]not[ -]supported\b|\bcertificate[ -](?:expired|host|is|has)|\bDANE\b/,
  /\brdns\b|\breverse[ -](?:hostname|lookup|dns|record|name|address)|\bPTR\b|\bunverifyable\b|\bunverifiable\b|\bdynamic ip\b|\b(?:find|resolve|resolvable|unresolvable|lookup)\b.{0,20}\b(?:your|relay|client|sender|ip) (?:host ?)?name\b|\b(?:ip|client|host) ?name lookup failed\b/,
  /\byour\b.{0,80}\bmisconfigured\b|\bfrom:? (?:domain|address|header)\b.{0,30}\binvalid\b|\bvalid (?:sender|from:?|address in the from)\b|\bhelo \/ ehlo\b/,
);

/** Said of content, of senders or of connections that are not wanted. */
const UNWANTED = anyOf(
  /\bblock(?:ed|ing|s)?\b|\bspam|\bunsolicited\b|\bbulk[ .-](?:mail|e-?mail|advertis)|\babus[ei]|\bphish|\bjunk|\bcloudmark|\blisted (?:on|by|at)\b|\b(?:DY|OU|SC)-00\d\b|\b(?:RLY|RTR|CON|DNS):[A-Z]{2}\b|\bbanned\b|\bcomplaints?\b|\bopen proxy\b/,
  /\bpolic(?:y|ies)\b|\bfilter(?:ed|s|ing)?\b|\bprohibit(?:ed|ion|s)\b|\bforbidden\b|\bnot (?:allowed|authori[sz]ed|permitted)\b|\brestricted\b|\bgo away\b|\bsecurity (?:polic|reason|risk|problem|issue|concern|restriction)|\borgani[sz]ation(?:al)? settings\b|\bpattern detection\b/,
  /\baccess (?:to .{1,60} )?(?:is |was |has been )?(?:denied|rejected|refused)\b|\bconnections? (?:is |was |are )?(?:not accepted|denied|rejected)\b|\bmail rejected\b|\b(?:envelope|content) (?:is |was |has been )?(?:rejected|refused|denied)\b|\bmessage (?:denied|refused)\b|\breject(?:ed|ing|s)? (?:mail|messages?|due to|because|for)\b|\bclient host\b|\brefused by\b|\bdelivery not authorized\b|\bdo(?:es)?(?: not|n't) accept (?:e-?mail|mail|messages?|spam|connections?) (?:from|containing)\b|\brejet[eé]/,
  /\bgroups\.google\.com\b|\bnot (?:a )?(?:member|subscriber)\b|\bnon-?(?:member|subscriber)s?\b|\bmembers-only\b|\bpermission to (?:post|send)\b|\bprotocol violation\b|\bnot in (?:white|allow)/,
  /\bslow(?:er)? down\b|\btry again slower\b|\bexcessive (?:volume|rate|\w{1,12} rate)\b|\b(?:too many|maximum|max|exceeds?) (?:\S{1,20} ){0,3}(?:errors|limits?|connections?|messages?|complaints?|spams?|recipients?)\b|\btrop de connexions\b|\bexceeded (?:the|permitted|your)\b|\bpermanently deferred\b|\brequires? confirmation\b/,
);

/** Trouble of a network, a server or a queue, which passes. */
const TROUBLE = anyOf(
  /\bDNS (?:error|(?:\w{1,12} )?(?:failure|failed))\b|\bNXDOMAIN\b|\b(?:name ?server|lookup) (?:failure|failed|reply|query)\b|\bname service error\b/,
  /\b(?:internal|local|system|server|configuration|mailer|write|temporary|transient)\b.{0,30}\b(?:error|problem|failure|trouble|misconfigur)|\binterrupted system call\b|\bmisconfigured\b|\binternal resources\b|\bsystem resources?\b|\bcommand failed\b|\bcould not load\b|\bstoredrv\b/,
  /\bdoes not support TLS\b|\blost connection\b|\btim(?:ed|e) ?-?out\b|\bconnection\b.{0,30}\b(?:refused|reset|lost|dropped|expired|closed)\b|\bclosing (?:transmission|connection)\b|\bno route\b|\bunable to (?:connect|establish|process connection|deliver message after)\b|\b(?:cannot|could not|couldn't) connect\b|\bcould not initiate\b|\bnot (?:responding|reachable)\b|\bnot accepting (?:\w{1,12} )?connections\b|\brefused to talk\b|\bdid not accept our requests to connect\b|\bnetwork (?:error|is unreachable)\b|\bremote protocol error\b/,
  /\bretry time(?:out)? (?:not reached|exceeded)\b|\b(?:try|retry|tried) (?:again )?(?:later|in)\b|\bessayer plus tard\b|\bin the queue too long\b|\bsitting in queue\b|\bgiving up\b|\bexpir(?:ed|ation)\b|\bnot (?:be |been )?(?:delivered (?:within|for)|collected after)\b|\bhosts? have been failing\b|\bfailing for a long time\b|\bfailed \d{1,4} attempts\b|\bnumerous attempts\b|\baborted after\b|\bdelivery attempts will\b|\bmessage (?:is )?(?:delayed|looping)\b|\bloop was found\b/,
  /\btemporar(?:y|il?y)\b|\bservice (?:is )?(?:currently )?(?:not available|unavailable)\b|\bcurrently unavailable\b/,
  /\bsyntax error\b|\bbad sequence\b|\bcommand (?:parameter )?(?:not implemented|unrecogni[sz]ed)\b|\bmail first\b|\bauthentication type\b|\b(?:procmail|maildrop)\b/,
);

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

/**
 * The words alone, for servers that give no enhanced code, a vague one, or the one of a dead address for whatever they
 * refuse. Words about the sender or its reputation come before words about the address, since both speak of an "address"
 * that is "rejected" or "not found".
 */
export const RULES_OF_WORDS: readonly BounceRule[] = [
  { class: 'sender', text: ASKS_SENDER, sample: '554 Relay access denied' },
  {
    class: 'policy',
    text: /\bIP=\S{7,45} - A problem\b|\bclient ip\b|\binvalid ip\b|\bproofpoint\.com\/|\bipcheck\.proofpoint\b|\breputation\b|\b(?:after|in reply to|response to) (?:HELO|EHLO|initial connection)\b/i,
    sample: '550 SMTP error from remote mail server after initial connection: rejected',
  },
  {
    class: 'policy',
    basic: /^5/,
    text: /\b(?:after|in reply to|response to) MAIL FROM\b/i,
    sample: '551 SMTP error from remote mail server after MAIL FROM: shop.example does not exist',
  },
  {
    class: 'hard',
    basic: /^5/,
    text: NO_MAIL_SERVICE,
    sample: '550 an MX or SRV record indicated no SMTP service',
  },
  { class: 'hard', basic: /^5/, text: UNKNOWN_MAILBOX, sample: '550 No such user here' },
  { class: 'hard', basic: /^5/, text: UNKNOWN_MAILBOX_ABROAD, sample: '550 Empfänger ist hier unbekannt' },
  { class: 'hard', basic: /^5/, text: GONE, sample: '550 Mailbox is frozen' },
  {
    class: 'hard',
    basic: /^5/,
    text: /\bmailbox (?:is )?unavailable\b|(?<!\b(?:sender|ip|client|your|from|source) )\b(?:recipient|address) rejected\b\W{0,9}(?:$|in reply to RCPT)|\bmailbox not available\b|\b(?:no such|unknown|invalid|illegal|non-?existent) (?:host|domain)\b|\bdead domain\b|\bunrout(?:e)?able (?:address|mail domain)\b|\bundeliverable address\b|\bnot (?:listed|present) in\b.{0,40}\b(?:directory|address book)\b|\bcouldn't find any host\b|\bfind the recipient(?:'s)? domain\b|\bno valid recipients\b(?! from\b)|\bnot configured to receive e?-?mails?\b/i,
    sample: '550 Unrouteable address',
  },
  {
    class: 'hard',
    basic: /^5/,
    text: /\b(?:host|domain)(?: name)?\b.{0,40}\b(?:not found|does(?: not|n't) exist|unknown)\b|\bNXDOMAIN\b|\bname or service not known\b/i,
    sample: '550 Host or domain name not found',
  },
  {
    class: 'content',
    text: /\bline (?:limit|length)\b|\blines? (?:is |are )?too long\b|\battachments?\b(?! for details)|\bvirus(?:es)?\b|\bmalware\b|\b(?:executable|compressed) files?\b|\bMIME\b|\bbase64\b|\bencoded-word\b|\b(?:improperly|invalid) (?:\w{1,12}[ -])?(?:formatted|headers?|characters?|content)\b|\b(?:message-id:?|disallowed|individual) header|\bheader size\b|\bRFC ?5322\b/i,
    sample: '554 Message refused: a virus was found',
  },
  { class: 'policy', text: UNWANTED, sample: '554 Message refused as spam' },
  { class: 'network', text: TROUBLE, sample: '550 retry timeout exceeded' },
];

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
