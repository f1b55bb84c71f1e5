import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { ManualClock } from '#testing/time/clocks';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { DnsReaderService } from './dns-reader.service.js';
import { SenderHostsService } from './sender-hosts.service.js';

const MINUTE = 60_000;

describe('what DNS says of the domains of a campaign', () => {
  let dns: DnsServer;
  let clock: ManualClock;
  let hosts: SenderHostsService;

  beforeEach(async () => {
    dns = await startDnsServer();
    clock = new ManualClock(new Date('2026-11-21T06:00:00Z'));
    hosts = new SenderHostsService(new DnsReaderService({ DNS_SERVERS: [dns.address] }), clock);
  });
  afterEach(() => dns.stop());

  const canReceive = (domain: string) => hosts.canReceive(domain);

  it('is that answers are received where there is a mail server, or an address in its place', async () => {
    dns.mx('mx.example', { preference: 10, exchange: 'mail.example' });
    dns.a('host.example', '192.0.2.1');
    expect(await canReceive('mx.example')).toBe(true);
    expect(await canReceive('host.example')).toBe(true);
  });

  it('is that answers come back where there is neither, or a null MX says so beside an address', async () => {
    dns.mx('null.example', { preference: 0, exchange: '.' });
    dns.a('null.example', '192.0.2.1');
    dns.txt('text.example', 'nothing else');
    for (const domain of ['null.example', 'text.example', 'nowhere.example'])
      expect([domain, await canReceive(domain)]).toEqual([domain, false]);
  });

  it.each(['SERVFAIL', 'REFUSED'] as const)('is open where a server answers %s', async (fault) => {
    dns.mx('acme.example', { preference: 10, exchange: 'mail.example' });
    dns.fail(fault, 'acme.example');
    expect(await canReceive('acme.example')).toBeNull();
  });

  it('is open within four seconds where no server answers, and asked for once a minute', async () => {
    dns.fail('silence');
    const [first, second] = [canReceive('acme.example'), canReceive('acme.example')];
    expect(second).toBe(first);
    expect(await first).toBeNull();
    dns.fail(null);
    dns.mx('acme.example', { preference: 10, exchange: 'mail.example' });
    clock.advance(MINUTE - 1);
    expect(await canReceive('acme.example')).toBeNull();
    clock.advance(1);
    expect(await canReceive('acme.example')).toBe(true);
  });

  const policy = async (host: string, record: string) => {
    dns.txt('_dmarc.acme.example', record);
    clock.advance(MINUTE);
    return (await hosts.dmarcPolicyOf(host))?.policy;
  };

  it('is a policy that t=y asks receivers to apply one step less of', async () => {
    expect(await policy('acme.example', 'v=DMARC1; p=reject; t=y')).toBe('quarantine');
    expect(await policy('acme.example', 'v=DMARC1; p=quarantine; t=Y')).toBe('none');
    expect(await policy('acme.example', 'v=DMARC1; p=none; t=y')).toBe('none');
    expect(await policy('acme.example', 'v=DMARC1; p=reject; t=n')).toBe('reject');
    expect(await policy('acme.example', 'v=DMARC1; p=block; t=y')).toBeUndefined();
  });

  it('is np for hosts below that are not in DNS, and sp for those that are', async () => {
    dns.a('shop.acme.example', '192.0.2.1');
    const record = 'v=DMARC1; p=quarantine; sp=none; np=reject';
    expect(await policy('shop.acme.example', record)).toBe('none');
    expect(await policy('forged.acme.example', record)).toBe('reject');
    expect(await policy('acme.example', record)).toBe('quarantine');
    expect(await policy('forged.acme.example', 'v=DMARC1; p=quarantine; sp=none')).toBe('none');
    expect(await policy('shop.acme.example', 'v=DMARC1; p=quarantine; np=none')).toBe('quarantine');
  });
});
