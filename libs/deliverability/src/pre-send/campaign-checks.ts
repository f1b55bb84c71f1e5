import { counted } from '#kernel';
import type { DmarcAlignment } from '../dns/dmarc-policy.js';
import { linePlaceMs } from '../throttling/destination.js';
import { warmUpDay, warmUpDays } from '../throttling/warm-up.js';
import type { CampaignFacts, DestinationFacts, DomainFacts, SenderFacts } from './campaign-facts.js';
import { contentWarnings, criticalContentChecks, type ReviewedContent } from './content-checks.js';
import {
  check,
  fail,
  inform,
  listed,
  pass,
  type PreSendAnalysis,
  type PreSendCheck,
  skip,
  summarise,
} from './pre-send-check.js';

/**
 * Runs all checks of a campaign, `translations` by locale, or by its path where `ownPath` is that of the first variant. A check fails if it fails in any language, and names the translations;
 * the score is that of the worst language.
 */
export function analyseCampaign(
  facts: CampaignFacts,
  translations: ReadonlyMap<string, ReviewedContent>,
  ownPath: string | null = null,
): PreSendAnalysis {
  const own = [...criticalChecks(facts), ...warningChecks(facts)];
  const ofContent = new Set(
    [...criticalContentChecks(facts), ...contentWarnings(facts.content)].map(({ code }) => code),
  );
  const others = [...translations].map(([locale, review]) => {
    const checks = [...criticalContentChecks(review), ...contentWarnings(review.content)];
    return { locale, checks: new Map(checks.map((each) => [each.code, each])) };
  });
  const merged = own.map((each) => {
    const failures = others.flatMap(({ locale, checks }) => {
      const other = checks.get(each.code);
      return other?.result === 'FAIL' ? [`${locale}: ${other.message}`] : [];
    });
    const named =
      ownPath === null || each.result !== 'FAIL' || !ofContent.has(each.code)
        ? each
        : fail(each.code, `${ownPath}: ${each.message}`);
    return failures.length === 0 ? named : failedIn(named, failures);
  });
  const scores = others.map(
    ({ checks }) => summarise(own.map((each) => checks.get(each.code) ?? each)).score,
  );
  return { ...summarise(merged), score: Math.min(summarise(own).score, ...scores) };
}

function failedIn({ code, result, message }: PreSendCheck, failures: readonly string[]): PreSendCheck {
  return fail(code, [...(result === 'FAIL' ? [message] : []), ...failures].join(' '));
}

/** Message of the failed check of the subscription. */
export const SENDING_NOT_ALLOWED = 'The subscription does not allow sending.';

/** The checks that refuse `schedule` and `send`, in the order in which an author would mend them. */
function criticalChecks(facts: CampaignFacts): PreSendCheck[] {
  return [
    topicCheck(facts),
    recipientsCheck(facts),
    senderDomainCheck(facts.sender),
    check(
      'subscription-active',
      facts.sendingAllowed,
      'The subscription allows sending.',
      SENDING_NOT_ALLOWED,
    ),
    quotaCheck(facts),
    ...criticalContentChecks(facts),
  ];
}

const inactiveOf = (named: CampaignFacts['segments']): string[] =>
  named.filter(({ status }) => status !== 'ACTIVE').map(({ name }) => name);

function topicCheck({ topics, deleted }: CampaignFacts): PreSendCheck {
  const inactive = inactiveOf(topics);
  if (topics.length === 0) return fail('topic', 'The campaign has no topic: set topicIds.');
  if (deleted.topics > 0)
    return fail('topic', `It names ${counted(deleted.topics, 'topic')} deleted since: set topicIds anew.`);
  return inactive.length > 0
    ? fail('topic', `Not active: ${inactive.join(', ')}.`)
    : pass('topic', `Goes to ${topics.map(({ name }) => name).join(', ')}.`);
}

function recipientsCheck({ recipients, segments, deleted, segmentFaults }: CampaignFacts): PreSendCheck {
  const inactive = inactiveOf(segments);
  if (deleted.segments > 0)
    return fail(
      'recipients',
      `It names ${counted(deleted.segments, 'segment')} deleted since: set segmentIds anew.`,
    );
  if (segmentFaults.length > 0) {
    const faults = segmentFaults.map(({ name, fault }) => `${name} (${fault})`);
    return fail('recipients', listed('Segments whose rules are no longer valid', faults));
  }
  if (inactive.length > 0) return fail('recipients', `Segments that are not active: ${inactive.join(', ')}.`);
  return check(
    'recipients',
    recipients > 0,
    `${counted(recipients, 'subscriber')} will receive it.`,
    'Nobody would receive it.',
  );
}

function senderDomainCheck({ host, needsDomain, domain }: SenderFacts): PreSendCheck {
  const code = 'sender-domain-verified';
  if (!needsDomain) return skip(code, 'Mail leaves without a verified sending domain here.');
  if (domain === null) return fail(code, `${host} is not verified: set up a sending domain.`);
  const { domainName, covers, verified, sendingAllowed, suspensionReason, alignment } = domain;
  if (!covers)
    return fail(code, `The mail is from ${host}, which is neither ${domainName} nor a host below it.`);
  if (suspensionReason !== null) return fail(code, `${domainName} is suspended: ${suspensionReason}`);
  if (!verified)
    return fail(code, `${domainName} is not verified: add its DNS records and have them checked.`);
  // Under p=none it still arrives, and dmarc-policy warns.
  if (alignment !== null && failsDmarc(alignment) && alignment.policy !== 'none')
    return fail(code, dmarcFailure(host, domainName, alignment));
  return check(
    code,
    sendingAllowed,
    `${domainName} is verified.`,
    `${domainName} must not send now: look at its DNS records.`,
  );
}

function quotaCheck({ emailsRemaining, recipients, sendingAllowed }: CampaignFacts): PreSendCheck {
  if (emailsRemaining === null) return skip('email-quota', 'E-mails are not counted here.');
  if (!sendingAllowed) return skip('email-quota', 'Not looked at: the subscription does not allow sending.');
  const left = emailsRemaining === Infinity ? 'any number' : String(emailsRemaining);
  const message = quotaMessage(recipients, left);
  return check('email-quota', recipients <= emailsRemaining, message, message);
}

/** Message of the quota check, also of the error that refuses a campaign. */
export function quotaMessage(needed: number, left: number | string): string {
  return `${counted(needed, 'e-mail')} needed, ${left} left in this period.`;
}

/** True if mail from the host passes DMARC nowhere. */
const failsDmarc = ({ dkim, spf }: DmarcAlignment): boolean => !dkim && spf === false;

function dmarcFailure(host: string, domainName: string, { publishedAt, policy }: DmarcAlignment): string {
  return (
    `Mail from ${host} fails the DMARC policy of ${publishedAt} (p=${policy}), which wants ${host} itself to sign or to ` +
    `return it, and ${domainName} does: send from ${domainName}, set ${host} up as the sending domain, or publish ` +
    `adkim=r.`
  );
}

/** The checks that suggest improvements or say what to expect, and refuse nothing. */
function warningChecks(facts: CampaignFacts): PreSendCheck[] {
  return [
    ...contentWarnings(facts.content),
    ...(facts.variantFaults === null ? [] : [variantsCheck(facts.variantFaults)]),
    ...domainWarnings(facts),
    relaysCheck(facts),
    destinationLimits(facts),
    relayFeedback(facts),
  ];
}

const variantsCheck = (faults: readonly string[]): PreSendCheck =>
  check('variants', faults.length === 0, 'The variants can be compared.', listed('Variants', faults));

const NO_DOMAIN = 'Not looked at: no verified domain sends it.';
const BY_SPF = 'passes DMARC by SPF alone, and fails where it is forwarded';
const BY_RELAY = 'passes DMARC only where the provider of the relay signs as that host too';

function domainWarnings({ sender, recipients, now }: CampaignFacts): PreSendCheck[] {
  const { host, domain } = sender;
  if (domain === null || !domain.covers || !domain.verified)
    return [skip('domain-warming', NO_DOMAIN), skip('dmarc-policy', NO_DOMAIN), repliesCheck(sender)];
  return [warmingCheck(domain, recipients, now), dmarcCheck(host, domain), repliesCheck(sender)];
}

/** Mailbox providers distrust senders who cannot be reached. */
function repliesCheck({ replies }: SenderFacts): PreSendCheck {
  const code = 'sender-replies';
  if (replies === null) return skip(code, 'Test mail stays in its inbox.');
  const deaf = replies.filter(({ canReceive }) => canReceive === false).map(({ domain }) => domain);
  if (deaf.length > 0)
    return fail(
      code,
      `${listed('Answers come back, since these domains have no mail server (no MX record, no address)', deaf)} Publish ` +
        `an MX record there, or set replyTo to an address that somebody reads.`,
    );
  const unknown = replies.filter(({ canReceive }) => canReceive === null).map(({ domain }) => domain);
  if (unknown.length > 0)
    return skip(code, listed('DNS did not tell whether answers can be received at', unknown));
  return pass(
    code,
    listed(
      'Answers can be received at',
      replies.map(({ domain }) => domain),
    ),
  );
}

function warmingCheck({ domainName, verifiedAt }: DomainFacts, recipients: number, now: Date): PreSendCheck {
  const code = 'domain-warming';
  const today = verifiedAt === null ? null : warmUpDay(verifiedAt, now);
  if (verifiedAt === null || today === null) return pass(code, `${domainName} is known by now.`);
  const where = `${domainName} is new: ${today.cap} mails on its day ${today.day}`;
  return check(
    code,
    recipients <= today.cap,
    `${where}, ${recipients} needed.`,
    `${where}, ${recipients} needed. They would take ${warmUpDays(recipients, verifiedAt, now)} days.`,
  );
}

function dmarcCheck(host: string, { domainName, dmarc, alignment }: DomainFacts): PreSendCheck {
  const code = 'dmarc-policy';
  if (alignment !== null && failsDmarc(alignment))
    return fail(code, dmarcFailure(host, domainName, alignment));
  if (alignment !== null && !alignment.dkim)
    return fail(
      code,
      `Mail from ${host} ${alignment.spf === null ? BY_RELAY : BY_SPF}: ${alignment.publishedAt} has adkim=s, and ` +
        `${domainName} signs.`,
    );
  if (dmarc === null || dmarc.status === 'PENDING')
    return skip(code, 'The DMARC record was not checked yet.');
  if (dmarc.status === 'FAILED')
    return fail(code, `${domainName} has no valid DMARC record (${dmarc.failureReason ?? 'MISSING'}).`);
  return dmarc.advice === null
    ? pass(code, `${domainName} asks receivers to act on forged mail.`)
    : inform(code, `DMARC of ${domainName}: ${dmarc.advice}.`);
}

function relaysCheck({ relays }: CampaignFacts): PreSendCheck {
  const code = 'relays';
  if (relays === null) return skip(code, 'Test mail stays in its inbox.');
  if (relays.length === 0) return pass(code, 'The relay of the installation sends it.');
  const active = relays.filter(({ status }) => status === 'ACTIVE');
  const unable = relays.map(({ name, status }) => `${name} is ${status}`);
  return check(
    code,
    active.length > 0,
    listed(
      'Relays that send it',
      active.map(({ name }) => name),
    ),
    `${listed('The mail will wait, because no relay for campaigns can be used', unable)} Repair or resume one.`,
  );
}

/** Names relays whose provider is silent, so that nobody learns of bounces and complaints. Never fails. */
function relayFeedback({ relays }: CampaignFacts): PreSendCheck {
  const code = 'relay-feedback';
  if (relays === null || relays.length === 0) return skip(code, 'No relay of the project sends it.');
  const silent = relays.filter(({ isSilent }) => isSilent).map(({ name }) => name);
  return pass(
    code,
    silent.length === 0
      ? 'No provider that was handed mail is silent about it.'
      : `${listed('No provider has told what became of the mail of', silent)} Enter the feedbackUrl of the relay there.`,
  );
}

/** Most destinations that the message names. */
const SHOWN = 5;
const MINUTE_MS = 60_000;

/** Estimates the time of the slowest destinations, from their limits and slow-downs alone. Never fails. */
function destinationLimits({ destinations, now }: CampaignFacts): PreSendCheck {
  const code = 'destination-limits';
  if (destinations === null) return skip(code, 'Nothing limits how fast this mail goes.');
  const timed = destinations
    .map((facts) => ({ facts, takesMs: linePlaceMs(facts.recipients, facts, now) }))
    .sort((a, b) => b.takesMs - a.takesMs);
  const [slowest] = timed;
  if (slowest === undefined) return pass(code, 'No recipient is at a mailbox provider with a limit.');
  const shown = timed.slice(0, SHOWN).map(({ facts, takesMs }) => `${described(facts)}, ${lasting(takesMs)}`);
  const more = timed.length > SHOWN ? `; ${timed.length - SHOWN} more are faster` : '';
  return pass(code, `Takes ${lasting(slowest.takesMs)}. ${shown.join('; ')}${more}.`);
}

function described({ destination, recipients, mailsPerSecond, slowUntil }: DestinationFacts): string {
  const limits = [
    ...(slowUntil === null ? [] : [`one a minute until ${slowUntil.toISOString().slice(0, 16)}Z`]),
    ...(mailsPerSecond === null ? [] : [`${slowUntil === null ? '' : 'then '}${mailsPerSecond} a second`]),
  ];
  return `${destination}: ${counted(recipients, 'mail')} at ${limits.join(', ')}`;
}

function lasting(ms: number): string {
  const minutes = Math.ceil(ms / MINUTE_MS);
  if (minutes <= 1) return 'a minute at most';
  const [days, hours] = [Math.floor(minutes / 1_440), Math.floor((minutes % 1_440) / 60)];
  const parts = [
    ...(days === 0 ? [] : [`${days} d`]),
    ...(hours === 0 ? [] : [`${hours} h`]),
    ...(days > 0 || minutes % 60 === 0 ? [] : [`${minutes % 60} min`]),
  ];
  return `at least ${parts.join(' ')}`;
}
