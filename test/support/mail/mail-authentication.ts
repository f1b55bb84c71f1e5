import { promises as dns } from 'node:dns';
import { authenticate } from 'mailauth';
import type { DnsServer } from './dns-server.js';
import type { ReceivedMail } from './sink-rules.js';

/** Findings of a receiver on a mail that came from 127.0.0.1. */
export interface Authenticity {
  readonly spf: string;
  /** One for each signature. */
  readonly dkim: readonly string[];
  readonly dmarc: string;
  /** The domains by which SPF and DKIM align with From. */
  readonly aligned: { readonly spf: string | undefined; readonly dkim: string | undefined };
}

/** Authenticates a mail as a receiver does, against the zones of a test's DNS server. */
export async function authenticity(
  server: DnsServer,
  { raw, from }: Pick<ReceivedMail, 'raw' | 'from'>,
): Promise<Authenticity> {
  const resolver = new dns.Resolver();
  resolver.setServers([server.address]);
  const { spf, dkim, dmarc } = await authenticate(raw, {
    strict: true,
    ip: '127.0.0.1',
    helo: 'localhost',
    sender: from,
    mta: 'mx.receiver.example',
    resolver: (name, type) => resolver.resolve(name, type) as Promise<string[] | string[][]>,
  });
  if (spf === false || dmarc === false) throw new Error('SPF and DMARC were not evaluated.');
  return {
    spf: spf.status.result,
    dkim: dkim.results.map(({ algo, status }) => `${algo} ${status.result}`),
    dmarc: dmarc.status.result,
    aligned: { spf: dmarc.alignment.spf.result, dkim: dmarc.alignment.dkim.result },
  };
}
