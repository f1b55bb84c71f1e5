import { warmUpDay, warmUpDays } from '../throttling/warm-up.js';
import type { CampaignFacts, DomainFacts, SenderFacts } from './campaign-facts.js';
import { dmarcFailure, failsDmarc } from './dmarc-failure.js';
import { check, fail, inform, listed, pass, type PreSendCheck, skip } from './pre-send-check.js';

const NO_DOMAIN = 'Not looked at: no verified domain sends it.';
const BY_SPF = 'passes DMARC by SPF alone, and fails where it is forwarded';
const BY_RELAY = 'passes DMARC only where the provider of the relay signs as that host too';

/** What its domain makes of a campaign's chances. */
export function domainWarnings({ sender, recipients, now }: CampaignFacts): PreSendCheck[] {
  const { host, domain } = sender;
  if (domain === null || !domain.covers || !domain.verified)
    return [skip('domain-warming', NO_DOMAIN), skip('dmarc-policy', NO_DOMAIN), repliesCheck(sender)];
  return [warmingCheck(domain, recipients, now), dmarcCheck(host, domain), repliesCheck(sender)];
}

/** Whether readers can answer: mailbox providers distrust senders who cannot be reached. */
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
