import { type DnsRecord, RECORD_PURPOSES, type RecordPurpose } from '../dns/dns-record.js';
import { relativeToZone, type SendingDomain } from './sending-domain.js';

/** A record of a key that signs no more stays this long, for mail that is on its way. */
export const RETIRED_KEY_KEPT_MS = 7 * 24 * 60 * 60_000;

const TITLES: Readonly<Record<RecordPurpose, string>> = {
  OWNERSHIP: 'Proof that the domain is yours',
  DKIM: 'Signature of your mail (DKIM)',
  SPF: 'Permission to send (SPF)',
  MX: 'Way back for undeliverable mail (MX)',
  DMARC: 'Rule for forged mail (DMARC)',
};
const REASONS: Readonly<Record<RecordPurpose, string>> = {
  OWNERSHIP: 'It shows that whoever asks us to send for this domain may also change it.',
  DKIM: 'It holds the public key with which receivers check that your mail is yours and was not changed on the way.',
  SPF: 'It tells receivers that our servers may send mail that returns to this host.',
  MX: 'It leads undeliverable mail to us, so that dead addresses are not written to again.',
  DMARC: 'It tells receivers what to do with mail that only pretends to come from your domain.',
};
const ADVICE: Readonly<Partial<Record<RecordPurpose, string>>> = {
  DKIM:
    'Copy the whole value. If the form takes no more than 255 characters at a time, enter it in two parts, each in ' +
    'quotation marks: "first part" "second part".',
  SPF:
    'A host has one SPF record only. If this host has one already, add the part that begins with include: to it ' +
    'instead, before the part that ends with all.',
  MX: 'If the form has a field of its own for the priority, enter the number there and the rest as the value.',
  DMARC: 'If you have a DMARC record already, keep it: any valid one will do.',
};

/** Instructions for someone who has the form of the registrar or DNS provider open. */
export function instructionsText(domain: SendingDomain, now: Date): string {
  const { domainName, requiredRecords: required } = domain;
  const { zone } = relativeToZone(domainName, domainName);
  const intro =
    `To send mail as ${domainName}, add these ${required.length} records where the DNS of ${zone} is managed: at your ` +
    'registrar or DNS provider, on the page for DNS records. Leave every other record as it is.\n' +
    'For each record choose its type, then enter host and value. Most forms want the short host, since they add ' +
    `.${zone} by themselves; use the full one if yours does not. Leave the TTL as it is.`;
  const ofProviders =
    domain.needed.size === RECORD_PURPOSES.length
      ? []
      : [
          'These are all that mail by your relays needs of us. Enter the records as well for which the provider of a relay asks.',
        ];
  const outro =
    'It mostly takes minutes until the records can be seen, at times up to a day. We look by ourselves for 72 hours; ' +
    'you can also ask us to look at any time.';
  const steps = required.map((record, index) => step(record, index + 1, domainName));
  return [intro, ...steps, ...ofProviders, ...retiredAdvice(domain, now), outro].join('\n\n');
}

function step(
  { purpose, recordType, host, expectedValue, previousValue, key }: DnsRecord,
  number: number,
  domainName: string,
): string {
  const { label } = relativeToZone(host, domainName);
  const lines = [
    `${number}. ${TITLES[purpose]}${key?.state === 'NEXT' ? ', the new key' : ''}`,
    REASONS[purpose],
    `   Type:  ${recordType}`,
    `   Host:  ${label}   (in full: ${host})`,
    `   Value: ${expectedValue}`,
    ...(previousValue === null
      ? []
      : [`   Instead of ${previousValue}: the host of our mail server has changed.`]),
  ];
  const advice = ADVICE[purpose];
  return [...lines, ...(advice === undefined ? [] : [advice])].join('\n');
}

function retiredAdvice({ records, domainName }: SendingDomain, now: Date): string[] {
  const retired = records.filter(({ isRequired }) => !isRequired);
  return retired.map(({ host, key }) => {
    const removableAt = new Date((key?.retiredAt ?? now).getTime() + RETIRED_KEY_KEPT_MS);
    const { label } = relativeToZone(host, domainName);
    return `The record ${label} (in full: ${host}) holds a key that signs no more. Keep it until ${removableAt.toISOString().slice(0, 10)}, for mail that is still on its way; then you may remove it.`;
  });
}
