/** The words by which a mail without a part for machines shows what it is; each repetition is bounded, as in the table. */

/** Senders of bounces. */
export const DAEMON =
  /mailer-?daemon|post[_-]?master|mail[ ._-]?(?:delivery|daemon|router|system|admin)|mdaemon|\bsystem administrator|\bmail_service|delivery[ ._-]?(?:sub)?system|<>/i;

/** Senders that answer for a mailing list, and their words for mail that did not go out to it. */
export const LIST_SERVER =
  /(?:-(?:admin|owner|request|bounces?)|\bowner-[\w.-]{1,60}|\bmajordomo|\blistserv)@/i;
export const LIST_REFUSAL =
  /\bnot (?:a )?(?:member|subscriber)|\bnon-?(?:member|subscriber)s?\b|\b(?:mail )?loop (?:alert|detected)\b/i;

/** A gatekeeper that asks the sender to prove something first; some have the form of a report of failure. */
export const CHALLENGE =
  /\bX-Boxbe-Notice\b|\bboxbe\b.{0,80}\bguest list\b|\bguest list\b.{0,80}\bboxbe\b|\b(?:waitlisted|wait-listed)\b|\bchallenge[ -]response\b|\bprove (?:that )?you(?:'re| are) (?:not a |a )?(?:human|person|real|robot|machine|spammer)|\b(?:click|follow|visit)\b.{0,40}\blinks?\b.{0,40}\b(?:to be (?:added|approved)|to (?:confirm|verify) (?:that you|your (?:address|message|e-?mail)))\b|\breply to this (?:mail|e-?mail|message)\b.{0,60}\b(?:to be|will be|have it) (?:delivered|released|approved)\b/is;

/** Words of a machine that answers for a person. */
export const AUTOMATIC_REPLY =
  /\bout of (?:the )?office\b|\bauto(?:matic|mated)?[ -]?(?:reply|response|answer)|\bvacation\b|\bon holiday|\baway from\b|\babwesen|\babsence\b|\bfuera de la oficina|\bassente\b|\bautomatische antwort/i;

/** That a mail failed, in a subject or in the text. */
export const FAILURE =
  /\bundeliver|\bnon-?deliver|\breturned (?:mail|to sender|e-?mail)|\breturning (?:message )?to sender|\bfail(?:ure|ed) (?:notice|notification|delivery|mail|recipients)|\b(?:delivery|mail|e-?mail|message)\b.{0,40}\b(?:fail(?:ure|ed)?|error|problem|rejected|aborted|bounced)\b|\b(?:could|can|was|were|has|have|is|did|does)(?: ?not|n't) (?:be |been )?(?:successfully )?(?:deliver|reach|sent|accept)|\b(?:unable|not able|wasn't able|failed|impossible) to deliver|\bprocessing error\b|\bnot deliverable\b|\b(?:mail|e-?mail|message) not delivered\b|\bhas been returned\b|\bpermanent (?:fatal )?(?:error|failure)|\bfailed permanently\b|\brecipients?\b.{0,40}\b(?:failed|aborted)\b|\b(?:was|were|been) (?:automatically )?(?:rejected|returned|refused)\b|\bautomatically rejected\b|\bdelivery (?:status )?notification:? .{0,3}(?:error|fail)/i;

/** The same in the other languages of large mail providers. */
export const FAILURE_ABROAD =
  /unzustellbar|nicht zugestellt|konnte nicht|non remis|pas (?:pu )?(?:être|etre) (?:délivré|delivr|remis|distribu)|échec de (?:la )?(?:remise|livraison)|mancato recapito|non (?:è stato )?(?:possibile )?(?:consegn|recapit)|no se (?:puede|pudo|ha podido) entregar|no entregad|não (?:foi )?(?:pôde ser )?entreg|niet (?:worden )?(?:bezorgd|afgeleverd)|kunde inte levereras|nie (?:zosta|moż|moz|dostarcz)|не (?:может быть )?(?:доставлен|доставлено)|недоставлен|无法(?:送达|投递|发送)|退信|投递失败|發送失敗|送信できません|配信できません|配送できません|エラー通知|送信エラー|配信エラー/i;

/** That the sending server goes on trying. */
export const STILL_TRYING =
  /\bwill (?:be retried|retry)\b|\bstill being retried\b|\bwill (?:keep|continue) (?:trying|to try|to be made)|\bdelivery attempts will continue|\bonly a temporary failure\b|\bwarning message only\b|\bthis is a warning only\b|\bnot yet been delivered\b|\bhas been delayed\b|\bis delayed for\b/i;

export const DELAY = /\bdelay|\bwarning\b/i;

/** Beginning of the returned message, in reports that carry it in their own text. */
export const RETURNED =
  /^[ \t>]{0,8}(?:-{2,40} ?(?:Below this line|Enclosed|This is a copy|Original message|Returned (?:message|mail)|Unsent message|The header|Attachment is a copy)|-{5,40} ?RETURNED MAIL|\|-{5,40} Message (?:text|header)|Original (?:message|mail) (?:as )?(?:follows|received)|Below is a copy of the original|Message headers follow|Received: |Return-Path: |Message-ID: )/im;

/** Mere possibilities, since a list of possible reasons names all of them, and the footers of scanners. */
export const GUESS =
  /\b(?:may|might) (?:be|have|not|no longer)\b|\bcould be\b|\bperhaps\b|\bpossible (?:reason|cause)s?\b|\b(?:was|been) scanned (?:for|by)\b|\breport this (?:e-?mail|message) as\b|\bif (?:the|you|your|this|it)\b/i;

/** The delivery agent's own reason (RFC 5429), which a server may have put another status beside. */
export const AUTOMATIC_REJECTION = /\bwas automatically rejected:\s{1,9}(\S[^\n]{0,400})/i;

/** Sendmail's subjects: `Returned mail: User unknown`. */
export const SUBJECT_REASON = /^(?:returned|failed) mail: (.{1,200})/i;

/** Beginning of the part about the recipient, after the introduction. */
export const RECIPIENT =
  /^ ?<[^<>\s@]{1,64}@[^<>\s]{1,255}>:|(?:address\(es\)|addresses?) failed:[ \t]{0,9}\n|could not be delivered to[^:]{0,200}:|following (?:list of )?(?:recipients?|address(?:es)?|address\(es\))[^:]{0,80}:|transcript of session follows|technical details|reason(?: for failure)?:/im;

/** Sendmail's transcript: what the server replied, and a line that Sendmail makes of the reply's basic code. */
export const SERVER_REPLY = /^<<< [45]\d\d[ -]/m;
export const TRANSLATED_REPLY = /^[45]\d\d (?:[45]\.\d\.\d )?\S{3,320}\.{3} /;
