import type { BounceRule } from './bounce-rule.js';

/** No mailbox of this name; "unknown error" and "invalid client address" say nothing of one. */
export const UNKNOWN_MAILBOX =
  /\b(?:no such|unknown|invalid|unrecogni[sz]ed) (?!(?:\w{1,12} )?(?:ip|client|sender|from|reply|return|envelope|source|helo|header|sending)\b)(?:\w{1,12} ){0,2}(?:user(?:id| ?name)?|mailbox|recipients?|address(?:ee)?|account|local part|person)\b|\bbad[ _](?:destination )?(?:mailbox|recipient|address)\b|(?<!\b(?:ip|client|sender|from|source|your) )\b(?:user|recipients?|rcpt|mailbox|account|address|addressee)(?: \w{1,12})?:? (?:is |was |are )?(?:unknown(?! (?:error|reason|problem|command|failure|status|cause))|invalid|not known|not found|not recogni[sz]ed|not listed)\b|(?<!\b(?:ip|client|sender|from|source|your) )\b(?:user|recipient|rcpt|mailbox|account|address|addressee)\b[^.]{0,40}\b(?:unknown(?! (?:error|reason|problem|command|failure|status|cause))|not found|not known|not exist|does(?: not|n't) exist|doesn't have)\b|\bnot (?:our|a (?:valid|known|local)) (?:user|mailbox|recipient|customer|account)\b|\bno (?:mail ?box|user|one) (?:here|by that name|of that name|found|available for)\b/i;

/** A host or domain that says that it takes no mail (RFC 7504, RFC 7505), or that has no server for it. */
export const NO_MAIL_SERVICE =
  /\bnull ?mx\b|\bindicated no SMTP service\b|(?<!\bsender )\b(?:host|domain|system)\b.{0,60}\b(?:does(?: not|n't)|not) (?:accept|receive|accepting|receiving) (?:any )?(?:e-?mail|mail|network messages)\b|\b(?:couldn't|could not|cannot|can't) find an? (?:mail exchanger|MX)\b|\bno (?:mx|mx records?|mail exchangers?|mail servers?)(?: was| were)? (?:found|for|exists?)\b/i;

/** The same in the languages of large mail providers. */
const UNKNOWN_MAILBOX_ABROAD =
  /\b(?:empf(?:ä|ae)nger|adresse|benutzer|postfach|mailbox)\b.{0,40}\b(?:unbekannt|existiert nicht|nicht (?:gefunden|vorhanden|bekannt))|\bunbekannter (?:empf|benutzer)|\b(?:utilisateur|destinataire|adresse)\b.{0,40}\b(?:inconnue?\b|n'existe pas|inexistante?\b|introuvable)|\b(?:usuario|destinatario|direcci[oó]n|buz[oó]n|cuenta)\b.{0,40}\b(?:desconocid[oa]|no existe|inexistente|no encontrad)|\b(?:utente|destinatario|indirizzo|casella)\b.{0,40}\b(?:sconosciut|inesistente|non esiste)|\b(?:usu[aá]rio|destinat[aá]rio|endereço|conta)\b.{0,40}(?:desconhecid|n[aã]o existe|inexistente)|\b(?:gebruiker|adres|geadresseerde)\b.{0,40}\b(?:onbekend|bestaat niet)|\b(?:nie ma takiego|nieznany) (?:użytkownik|adres|odbiorc)|(?:пользовател|адрес|получател|ящик).{0,40}не (?:существует|найден)|見つかりません|(?:リスト|ディレクトリ).{0,12}ありません|存在しません|あて先不明|宛先不明|(?:用户|用戶|收件人|邮箱|信箱).{0,12}不存在|查無此人/i;

/** A mailbox that was there; not a connection that a recipient's server closed, nor our own account at a relay. */
const GONE =
  /(?<!\byour (?:\w{1,12} )?)\b(?:user|recipient|mailbox|account|address|addressee)\b[^.]{0,40}(?<!\btemporar(?:y|ily) )\b(?:disabled|deactivated|suspended|inactive|unavailable permanently|no longer (?:valid|available|active|exists?|in use|on server))\b|(?<!\byour (?:\w{1,12} )?)\b(?:user|mailbox|account)(?: (?:is|was|has|been|now|currently|permanently)){0,4} (?:frozen|locked|closed|archived|terminated|expired)\b|\b(?:disabled|deactivated|inactive|expired|closed) (?:user|recipient|mailbox|account|address)\b|\bno longer (?:works?|with|employed) (?:here|at|for|by|the company)\b/i;

/**
 * The words alone, for servers that give no enhanced code or a vague one. What concerns the sender or its reputation
 * stands before what concerns the address, since both speak of an "address" that is "rejected" or "not found".
 */
export const RULES_OF_WORDS: readonly BounceRule[] = [
  {
    class: 'sender',
    text: /\bsender's? (?:address|domain)\b|\brelay(?:ing)? (?:access )?(?:denied|not (?:allowed|permitted))\b|\bunable to relay\b|\b(?:address|domain|identit(?:y|ies)) (?:is |are )?not verified\b|\binsecure mail relay\b/i,
    sample: '554 Relay access denied',
  },
  {
    class: 'sender',
    text: /\bSMTP authentication\b|\bauthentication (?:is )?(?:required|failed)\b|\bunauthenticated\b|\bDMARC\b|\bDKIM\b|\bSPF\b|\brdns\b|\breverse (?:hostname|dns)\b|\bPTR\b|\bunverifyable\b|\byour\b.{0,80}\bmisconfigured\b|\bfrom:? (?:domain|address|header)\b.{0,30}\binvalid\b|\bfailed\b.{0,30}\bauthentication\b|\bauthentication\b.{0,20}\bfailed\b/i,
    sample: '550 Message rejected due to failed DMARC evaluation',
  },
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
    text: /\bmailbox unavailable\b|\b(?:no such|unknown|invalid|illegal) (?:host|domain)\b|\bunrout(?:e)?able address\b|\bundeliverable address\b|\bnot listed in\b.{0,40}\b(?:directory|address book)\b|\b(?:doesn't|does not) have an? \S{1,40} account\b|\bcouldn't find any host\b|\bno valid recipients\b/i,
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
    text: /\bline (?:limit|length)\b|\blines? (?:is |are )?too long\b|\battachment type\b|\bvirus\b|\bmalware\b/i,
    sample: '554 Message refused: a virus was found',
  },
  {
    class: 'policy',
    text: /\bblocked\b|\bspam|\bunsolicited\b|\bpolic(?:y|ies)\b|\bjunk\b|\bbanned\b|\bfiltered\b|\baccess denied\b|\bnot allowed\b|\bprotocol violation\b|\bgroups\.google\.com\b|\bnot (?:a )?(?:member|subscriber)\b|\bnon-?(?:member|subscriber)s?\b|\bpermission to post\b|\bmail rejected\b/i,
    sample: '554 Message refused as spam',
  },
  {
    class: 'network',
    text: /\bDNS error\b|\bNXDOMAIN\b|\binternal system error\b|\bdoes not support TLS\b|\btimed out\b|\btime ?out\b|\bconnection (?:refused|reset|lost|dropped)\b|\bretry time(?:out)? (?:not reached|exceeded)\b|\bno route to host\b|\btry again later\b|\bin the queue too long\b|\bgiving up\b|\bexpired\b|\bnot (?:be )?delivered within\b|\bnot (?:responding|reachable)\b|\bnot accepting connections\b|\bhosts? have been failing\b|\brefused to talk\b|\btemporarily suspended\b|\bdid not accept our requests to connect\b|\bunable to (?:connect|establish)\b|\bcannot connect\b|\bnetwork (?:error|is unreachable)\b|\bfailed \d{1,4} attempts\b|\baborted after\b|\bname service error\b|\bcould not load\b|\b(?:currently|temporarily) unavailable\b|\bremote protocol error\b/i,
    sample: '550 retry timeout exceeded',
  },
];
