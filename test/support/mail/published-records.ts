import type { DnsServer } from './dns-server.js';

/** A record as the API and the domain's own view show it. */
export interface RecordToPublish {
  readonly recordType: string | null;
  readonly host: string | null;
  readonly expectedValue: string | null;
}

/** Does what the instructions ask for. Records of one host and type, as of two projects, stand side by side. */
export function publishRecords(dns: DnsServer, records: readonly RecordToPublish[]): void {
  const texts = new Map<string, string[]>();
  for (const { recordType, host, expectedValue } of records) {
    if (host === null || expectedValue === null) throw new Error('The record is not complete.');
    if (recordType === 'TXT') texts.set(host, [...(texts.get(host) ?? []), expectedValue]);
    else dns.mx(host, mailExchange(expectedValue));
  }
  for (const [host, values] of texts) dns.txt(host, ...new Set(values));
}

function mailExchange(value: string): { readonly preference: number; readonly exchange: string } {
  const [preference = '', exchange = ''] = value.split(' ');
  return { preference: Number(preference), exchange };
}
