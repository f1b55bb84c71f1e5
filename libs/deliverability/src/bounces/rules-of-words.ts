import { anyOf, type BounceRule } from './bounce-rule.js';

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
