import { warmUpDay, warmUpDays } from '../throttling/warm-up.js';
import type { CampaignFacts, DomainFacts } from './campaign-facts.js';
import { dmarcFailure, failsDmarc } from './dmarc-failure.js';
import { check, fail, pass, type PreSendCheck, skip } from './pre-send-check.js';

const NO_DOMAIN = 'Not looked at: no verified domain sends it.';
const BY_SPF = 'passes DMARC by SPF alone, and fails where it is forwarded';
const BY_RELAY = 'passes DMARC only where the provider of the relay signs as that host too';

/** What its domain makes of a campaign's chances. */
export function domainWarnings({ sender: { host, domain }, recipients, now }: CampaignFacts): PreSendCheck[] {
  if (domain === null || !domain.covers || !domain.verified)
    return [skip('domain-warming', NO_DOMAIN), skip('dmarc-policy', NO_DOMAIN)];
  return [warmingCheck(domain, recipients, now), dmarcCheck(host, domain)];
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
  return check(
    code,
    dmarc.note === null,
    `${domainName} asks receivers to act on forged mail.`,
    `DMARC of ${domainName}: ${dmarc.note ?? ''}.`,
  );
}
