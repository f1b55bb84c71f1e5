import type { DmarcAlignment } from '../dns/dmarc-policy.js';

/** Whether every receiver finds that mail from the host is not its domain's. */
export const failsDmarc = ({ dkim, spf }: DmarcAlignment): boolean => !dkim && spf === false;

/** That it does, why, and what to do. */
export function dmarcFailure(
  host: string,
  domainName: string,
  { publishedAt, policy }: DmarcAlignment,
): string {
  return (
    `Mail from ${host} fails the DMARC policy of ${publishedAt} (p=${policy}), which wants ${host} itself to sign or to ` +
    `return it, and ${domainName} does: send from ${domainName}, set ${host} up as the sending domain, or publish ` +
    `adkim=r.`
  );
}
