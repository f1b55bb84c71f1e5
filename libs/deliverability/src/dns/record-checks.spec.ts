import { generateKeyPairSync } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { DnsReaderService } from './dns-reader.service.js';
import { checkRecord, type ExpectedRecord } from './record-checks.js';

const RSA = generateKeyPairSync('rsa', { modulusLength: 2048 })
  .publicKey.export({ type: 'spki', format: 'der' })
  .toString('base64');
const OWNERSHIP: ExpectedRecord = {
  purpose: 'OWNERSHIP',
  host: '_mailwright.acme.example',
  expectedValue: 'mailwright-verification=abc',
};
const DKIM: ExpectedRecord = {
  purpose: 'DKIM',
  host: 'mw1._domainkey.acme.example',
  expectedValue: `v=DKIM1; k=rsa; p=${RSA}`,
};
const SPF: ExpectedRecord = {
  purpose: 'SPF',
  host: 'bounce.acme.example',
  expectedValue: 'v=spf1 include:spf.ours.example ~all',
};
const MX: ExpectedRecord = {
  purpose: 'MX',
  host: 'bounce.acme.example',
  expectedValue: '10 bounces.ours.example',
};
const DMARC: ExpectedRecord = {
  purpose: 'DMARC',
  host: '_dmarc.acme.example',
  expectedValue: 'v=DMARC1; p=none',
};
const ALL = [OWNERSHIP, DKIM, SPF, MX, DMARC];

describe('The check of a customer’s DNS', () => {
  let dns: DnsServer;
  let reader: DnsReaderService;

  beforeEach(async () => {
    dns = await startDnsServer();
    reader = new DnsReaderService({ DNS_SERVERS: [dns.address] });
    dns.txt('spf.ours.example', 'v=spf1 ip4:192.0.2.0/24 -all');
  });

  afterEach(() => dns.stop());

  /** `VERIFIED`, or the code of the failure. */
  const outcome = async (record: ExpectedRecord): Promise<string> => {
    const verdict = await checkRecord(reader, record);
    return verdict.status === 'VERIFIED' ? 'VERIFIED' : verdict.code;
  };
  const spf = (...records: string[]) => {
    dns.txt(SPF.host, ...records);
    return outcome(SPF);
  };
  const dmarc = (...records: string[]) => {
    dns.txt(DMARC.host, ...records);
    return outcome(DMARC);
  };
  const dkim = (...records: (string | string[])[]) => {
    dns.txt(DKIM.host, ...records);
    return outcome(DKIM);
  };

  it('finds what was asked for', async () => {
    for (const { purpose, host, expectedValue } of ALL) if (purpose !== 'MX') dns.txt(host, expectedValue);
    dns.mx(MX.host, { preference: 10, exchange: 'bounces.ours.example' });
    for (const record of ALL) {
      expect(await checkRecord(reader, record)).toMatchObject({
        status: 'VERIFIED',
        actualValue: record.expectedValue,
      });
    }
  });

  it('sees at once what was changed', async () => {
    expect(await outcome(OWNERSHIP)).toBe('MISSING');
    dns.txt(OWNERSHIP.host, 'mailwright-verification=wrong');
    expect(await outcome(OWNERSHIP)).toBe('MISMATCH');
    dns.txt(OWNERSHIP.host, OWNERSHIP.expectedValue);
    expect(await outcome(OWNERSHIP)).toBe('VERIFIED');
  });

  describe.each(ALL)('of the $purpose record', (record) => {
    it('says MISSING when the name, or the type at the name, does not exist', async () => {
      expect(await checkRecord(reader, record)).toMatchObject({
        code: 'MISSING',
        reason: 'the name does not exist',
      });
      dns.a(record.host, '192.0.2.1');
      expect(await checkRecord(reader, record)).toMatchObject({
        code: 'MISSING',
        reason: 'there is no record of this type',
        actualValue: null,
      });
    });

    it.each([
      ['SERVFAIL', 'SERVFAIL'],
      ['REFUSED', 'REFUSED'],
    ] as const)('says DNS_ERROR when the server answers %s', async (fault, said) => {
      dns.fail(fault);
      const verdict = await checkRecord(reader, record);
      expect(verdict).toMatchObject({ code: 'DNS_ERROR', reason: expect.stringContaining(said) });
    });

    it('says MISSING when a lame server answers with nothing', async () => {
      dns.fail('lame');
      expect(await outcome(record)).toBe('MISSING');
    });

    it('follows a chain of CNAMEs, and says where it ends', async () => {
      dns.cname(record.host, 'one.elsewhere.example');
      dns.cname('one.elsewhere.example', 'two.elsewhere.example');
      expect(await checkRecord(reader, record)).toMatchObject({
        code: 'MISSING',
        reason: 'the CNAME leads to two.elsewhere.example, where the name does not exist',
      });
      if (record.purpose === 'MX')
        dns.mx('two.elsewhere.example', { preference: 10, exchange: 'bounces.ours.example' });
      else dns.txt('two.elsewhere.example', record.expectedValue);
      expect(await outcome(record)).toBe('VERIFIED');
      dns.cname(record.host, 'one.elsewhere.example', 'complete');
      dns.cname('one.elsewhere.example', 'two.elsewhere.example', 'complete');
      expect(await outcome(record)).toBe('VERIFIED');
    });

    it('says SYNTAX when CNAMEs lead in a circle or never end', async () => {
      dns.cname(record.host, 'other.acme.example');
      dns.cname('other.acme.example', record.host);
      expect(await checkRecord(reader, record)).toMatchObject({
        code: 'SYNTAX',
        reason: expect.stringContaining('circle'),
      });
      for (let n = 0; n < 12; n += 1) dns.cname(n === 0 ? record.host : `c${n}.example`, `c${n + 1}.example`);
      expect(await checkRecord(reader, record)).toMatchObject({
        code: 'SYNTAX',
        reason: 'there are more than 8 CNAMEs in a row',
      });
    });

    it('asks again by TCP when the answer was cut', async () => {
      if (record.purpose === 'MX') dns.mx(record.host, { preference: 10, exchange: 'bounces.ours.example' });
      else dns.txt(record.host, record.expectedValue);
      dns.fail('truncated', record.host);
      expect(await outcome(record)).toBe('VERIFIED');
      expect(dns.questions).toContain(`TCP ${record.purpose === 'MX' ? 'MX' : 'TXT'} ${record.host}`);
    });
  });

  it('says DNS_ERROR when no server answers, which it asks twice', async () => {
    dns.fail('silence');
    for (const verdict of await Promise.all(ALL.map((record) => checkRecord(reader, record))))
      expect(verdict).toMatchObject({ code: 'DNS_ERROR', reason: expect.stringContaining('in time') });
    // Five records at two seconds a question and its repetition: less than a client waits.
    const asked = Map.groupBy(dns.questions, (question) => question);
    expect([...asked.values()].map((questions) => questions.length)).toEqual(ALL.map(() => 2));
  });

  it('says DNS_ERROR when there is no server', async () => {
    await dns.stop();
    expect(await outcome(DKIM)).toBe('DNS_ERROR');
    dns = await startDnsServer();
  });

  it('finds our ownership record among others', async () => {
    dns.txt(OWNERSHIP.host, 'mailwright-verification=of another project', OWNERSHIP.expectedValue);
    expect(await outcome(OWNERSHIP)).toBe('VERIFIED');
  });

  it('compares DKIM keys and not their spelling', async () => {
    expect(await dkim([DKIM.expectedValue.slice(0, 255), DKIM.expectedValue.slice(255)])).toBe('VERIFIED');
    expect(await dkim(`k=rsa;p=${RSA.slice(0, 60)} ${RSA.slice(60)}`)).toBe('VERIFIED');
    expect(await dkim(` v = DKIM1 ; h=sha1:sha256; t=s; p=${RSA} ;`)).toBe('VERIFIED');
    expect(await dkim('some other text', DKIM.expectedValue)).toBe('VERIFIED');
  });

  it.each([
    ['MISMATCH', 'another key', [`v=DKIM1; k=rsa; p=${RSA.replace('M', 'N')}`]],
    ['MISMATCH', 'a key that is cut off', [`v=DKIM1; k=rsa; p=${RSA.slice(0, 240)}`]],
    ['MISMATCH', 'a revoked key', ['v=DKIM1; p=']],
    ['MISMATCH', 'another kind of key', [`v=DKIM1; k=ed25519; p=${RSA}`]],
    ['MISMATCH', 'a key for SHA-1 only', [`v=DKIM1; h=sha1; p=${RSA}`]],
    ['MISMATCH', 'a key that is not for mail', [`v=DKIM1; s=tlsrpt; p=${RSA}`]],
    ['MISMATCH', 'some other text', ['hello']],
    ['SYNTAX', 'no key', ['v=DKIM1; k=rsa']],
    ['SYNTAX', 'tags twice', [`v=DKIM1; k=rsa; k=rsa; p=${RSA}`]],
    ['SYNTAX', 'tags without values', [`v=DKIM1; rsa; p=${RSA}`]],
    ['MULTIPLE', 'two keys', [DKIM.expectedValue, `v=DKIM1; k=rsa; p=${RSA.replace('M', 'N')}`]],
  ])('says %s of a DKIM record with %s, and shows it', async (code, _what, records) => {
    expect(await dkim(...records)).toBe(code);
    expect((await checkRecord(reader, DKIM)).actualValue).toContain(records[0]);
  });

  it.each([
    ['VERIFIED', 'v=spf1 include:spf.ours.example. ~all'],
    ['VERIFIED', 'v=spf1 include:spf.ours.example -all'],
    ['VERIFIED', 'V=SPF1 A:bounce.acme.example/24//64 +include:SPF.ours.example'],
    ['VERIFIED', 'v=spf1 ip4:192.0.2.1 ip6:2001:db8::/32 include:spf.ours.example ?all'],
    ['VERIFIED', 'v=spf1 redirect=spf.ours.example'],
    ['VERIFIED', 'v=spf1 include:nested.acme.example ~all'],
    ['VERIFIED', 'v=spf1 exists:%{i}.list.example include:spf.ours.example unknown=what ~all'],
    ['MISMATCH', 'v=spf1 -all'],
    ['MISMATCH', 'v=spf1 -all include:spf.ours.example'],
    ['MISMATCH', 'v=spf1 -include:spf.ours.example ~all'],
    ['MISMATCH', 'v=spf1 ~include:nested.acme.example ~all'],
    ['MISMATCH', 'v=spf1 redirect=spf.ours.example ~all'],
    ['SYNTAX', 'v=spf1 include:spf.ours.example all=~'.replace('all=~', 'al')],
    ['SYNTAX', 'v=spf1 include:spf.ours.example ip4:192.0.2.256'],
    ['SYNTAX', 'v=spf1 include:spf.ours.example ip4:192.0.2.1/33'],
    ['SYNTAX', 'v=spf1 include:spf.ours.example a:bounce.acme.example/33'],
    ['SYNTAX', 'v=spf1 include ~all'],
    ['SYNTAX', 'v=spf1 redirect=a.example redirect=b.example'],
    ['SYNTAX', 'v=spf1 include:nowhere.example include:spf.ours.example ~all'],
    ['SYNTAX', 'v=spf1 include:broken.example include:spf.ours.example ~all'],
    ['SYNTAX', 'spf1 include:spf.ours.example ~all'],
    ['MISSING', 'some other text'],
  ])('says %s of the SPF record "%s"', async (code, record) => {
    dns.a(SPF.host, '192.0.2.9');
    dns.txt('nested.acme.example', 'v=spf1 include:spf.ours.example -all');
    dns.txt('broken.example', 'v=spf1 ip4:nonsense');
    expect(await spf(record)).toBe(code);
  });

  it('says MULTIPLE of two SPF records, and leaves other texts alone', async () => {
    expect(await spf(SPF.expectedValue, 'google-site-verification=1')).toBe('VERIFIED');
    expect(await spf(SPF.expectedValue, 'v=spf1 ~all')).toBe('MULTIPLE');
  });

  it('counts the look-ups of SPF through everything that is included: ten are enough', async () => {
    const chain = (length: number) => {
      for (let n = 1; n <= length; n += 1) {
        dns.txt(`c${n}.example`, n === length ? 'v=spf1 -all' : `v=spf1 include:c${n + 1}.example -all`);
      }
    };
    chain(9);
    expect(await spf('v=spf1 include:spf.ours.example include:c1.example ~all')).toBe('VERIFIED');
    chain(10);
    expect(await spf('v=spf1 include:spf.ours.example include:c1.example ~all')).toBe('SPF_TOO_MANY_LOOKUPS');
    dns.txt('c1.example', 'v=spf1 include:c1.example -all');
    expect(await spf('v=spf1 include:spf.ours.example include:c1.example ~all')).toBe('SPF_TOO_MANY_LOOKUPS');
    const all = 'a:a.example mx:m.example ptr exists:e.example include:i.example';
    for (const host of ['a.example', 'e.example']) dns.a(host, '192.0.2.1');
    dns.mx('m.example', { preference: 1, exchange: 'a.example' });
    dns.txt('i.example', 'v=spf1 -all');
    expect(await spf(`v=spf1 include:spf.ours.example ${all} a:a.example mx:m.example ptr ptr ~all`)).toBe(
      'VERIFIED',
    );
    expect(await spf(`v=spf1 include:spf.ours.example ${all} ${all} ~all`)).toBe('SPF_TOO_MANY_LOOKUPS');
  });

  it('lets SPF name two hosts that do not exist, and no third', async () => {
    expect(await spf('v=spf1 a:x.example mx:y.example include:spf.ours.example ~all')).toBe('VERIFIED');
    expect(await spf('v=spf1 a:x.example mx:y.example exists:z.example include:spf.ours.example ~all')).toBe(
      'SPF_TOO_MANY_LOOKUPS',
    );
  });

  it('says DNS_ERROR when a host that SPF includes cannot be asked', async () => {
    dns.fail('SERVFAIL', 'other.example');
    expect(await spf('v=spf1 include:other.example include:spf.ours.example ~all')).toBe('DNS_ERROR');
    expect(await spf('v=spf1 a:other.example include:spf.ours.example ~all')).toBe('DNS_ERROR');
  });

  it('does not hold the state of our own SPF host against the customer', async () => {
    dns.remove('spf.ours.example');
    expect(await spf(SPF.expectedValue)).toBe('VERIFIED');
    dns.fail('REFUSED', 'spf.ours.example');
    expect(await spf(SPF.expectedValue)).toBe('VERIFIED');
  });

  it.each([
    ['MISMATCH', ['mail.acme.example']],
    ['MISMATCH', ['.']],
    ['MULTIPLE', ['bounces.ours.example', 'mail.acme.example']],
    ['VERIFIED', ['Bounces.Ours.example']],
  ])('says %s when bounces go to %j', async (code, exchanges) => {
    dns.mx(MX.host, ...exchanges.map((exchange) => ({ preference: 20, exchange })));
    expect(await outcome(MX)).toBe(code);
  });

  it.each([
    ['VERIFIED', ['v=DMARC1; p=none']],
    ['VERIFIED', ['v=DMARC1; p=Quarantine; rua=mailto:d@acme.example; pct=20; adkim=s']],
    ['VERIFIED', ['v=DMARC1;p=reject;']],
    ['VERIFIED', ['v=DMARC1; rua=mailto:d@acme.example']],
    ['VERIFIED', ['v=DMARC1; p=reject', 'some other text']],
    ['MULTIPLE', ['v=DMARC1; p=reject', 'v=DMARC1; p=none']],
    ['VERIFIED', ['v=DMARC1; p=quarantine; sp=reject; np=reject; t=y']],
    ['SYNTAX', ['v=DMARC1; p=block']],
    ['SYNTAX', ['v=DMARC1; p=none; np=block']],
    ['SYNTAX', ['v=DMARC1']],
    ['SYNTAX', ['v=DMARC1; p=none; p=reject']],
    ['SYNTAX', ['p=none; v=DMARC1']],
    ['MISSING', ['some other text']],
  ])('says %s of the DMARC records %j', async (code, records) => {
    expect(await dmarc(...records)).toBe(code);
  });

  it('notes a DMARC policy that asks for nothing', async () => {
    dns.txt(DMARC.host, 'v=DMARC1; p=none');
    expect(await checkRecord(reader, DMARC)).toMatchObject({ note: expect.stringContaining('p=none asks') });
    dns.txt(DMARC.host, 'v=DMARC1; p=reject');
    expect(await checkRecord(reader, DMARC)).toMatchObject({ note: null });
  });

  it('notes a DMARC policy that is only tested', async () => {
    dns.txt(DMARC.host, 'v=DMARC1; p=reject; t=y');
    expect(await checkRecord(reader, DMARC)).toMatchObject({ note: expect.stringMatching(/^t=y asks/) });
    dns.txt(DMARC.host, 'v=DMARC1; p=none; t=y');
    expect(await checkRecord(reader, DMARC)).toMatchObject({ note: expect.not.stringContaining('t=y') });
  });

  it('notes a DMARC policy that fails mail from hosts below the domain', async () => {
    dns.txt(DMARC.host, 'v=DMARC1; p=reject; ADKIM=s; aspf=s'.replace('ADKIM', 'adkim'));
    expect(await checkRecord(reader, DMARC)).toMatchObject({
      status: 'VERIFIED',
      note: expect.stringMatching(/^adkim=s with aspf=s fails mail from a host below the domain/),
    });
    dns.txt(DMARC.host, 'v=DMARC1; p=none; adkim=s; aspf=S');
    expect(await checkRecord(reader, DMARC)).toMatchObject({
      note: expect.stringMatching(/p=none.*; adkim=s with/),
    });
    for (const half of ['adkim=s', 'aspf=s', 'adkim=r; aspf=s']) {
      dns.txt(DMARC.host, `v=DMARC1; p=reject; ${half}`);
      expect(await checkRecord(reader, DMARC)).toMatchObject({ note: null });
    }
  });

  it('takes the DMARC policy of the registered domain above', async () => {
    const below: ExpectedRecord = { ...DMARC, host: '_dmarc.news.acme.co.uk' };
    dns.txt('_dmarc.acme.co.uk', 'v=DMARC1; p=reject; sp=none');
    dns.txt('_dmarc.co.uk', 'v=DMARC1; p=reject');
    expect(await checkRecord(reader, below)).toMatchObject({
      status: 'VERIFIED',
      note: expect.stringMatching(/^the policy comes from _dmarc\.acme\.co\.uk; p=none/),
    });
    dns.txt('_dmarc.acme.co.uk', 'v=DMARC1; p=nothing');
    expect(await checkRecord(reader, below)).toMatchObject({ code: 'SYNTAX' });
    dns.remove('_dmarc.acme.co.uk');
    expect(await outcome(below)).toBe('MISSING');
  });
});
