import { type DkimAlgorithm, dkimRecord } from '../dkim/dkim-key.js';
import type { NewDnsRecord } from '../dns/dns-record.js';

/** The operator's side of what customers publish. */
export interface MailHosts {
  readonly bounceHost: string;
  readonly spfInclude: string;
}

/** What proves the domain and brings its bounces back; `token` is random. */
export function domainRecords(
  domainName: string,
  returnPathHost: string,
  token: string,
  { bounceHost, spfInclude }: MailHosts,
): NewDnsRecord[] {
  const record = (
    purpose: NewDnsRecord['purpose'],
    recordType: NewDnsRecord['recordType'],
    host: string,
    expectedValue: string,
  ): NewDnsRecord => ({ purpose, recordType, host, expectedValue });
  return [
    record('OWNERSHIP', 'TXT', `_mailwright.${domainName}`, `mailwright-verification=${token}`),
    record('SPF', 'TXT', returnPathHost, `v=spf1 include:${spfInclude} ~all`),
    record('MX', 'MX', returnPathHost, `10 ${bounceHost}`),
    record('DMARC', 'TXT', `_dmarc.${domainName}`, 'v=DMARC1; p=none'),
  ];
}

/** What publishes a key; `publicKey` is base64. */
export function keyRecord(
  domainName: string,
  selector: string,
  algorithm: DkimAlgorithm,
  publicKey: string,
): NewDnsRecord {
  return {
    purpose: 'DKIM',
    recordType: 'TXT',
    host: `${selector}._domainkey.${domainName}`,
    expectedValue: dkimRecord(algorithm, publicKey),
  };
}
