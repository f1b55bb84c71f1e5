import { createPrivateKey, createPublicKey, sign, verify } from 'node:crypto';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  DomainValidationError,
  InUseError,
  InvalidStateError,
  NotFoundError,
  type ProjectScope,
  UnavailableError,
} from '#kernel';
import { DAY, DeliverabilityFixture } from '#testing/fixtures/deliverability';
import { eventually } from '#testing/time/eventually';
import { publishRecords } from '#testing/mail/published-records';
import { letTimeGo, passTime, stopTime, waitingTimers } from '#testing/time/time-limits';
import { DkimKeysService } from '../dkim/dkim-keys.service.js';
import { DomainChecksService } from './domain-checks.service.js';
import { DomainVerificationService } from './domain-verification.service.js';
import { SendingDomainExistsError } from './sending-domain.js';
import { SendingDomainsQuery } from './sending-domains.query.js';
import { DomainControlService, SendingDomainsService } from './sending-domains.service.js';

describe('A sending domain', () => {
  let fixture: DeliverabilityFixture;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start({ MASTER_KEY: 'the first master key of this test, long' });
  });
  afterAll(() => fixture?.stop());

  const create = (scope: ProjectScope, name: string) =>
    fixture.get(SendingDomainsService).create(scope, name);
  const change = (scope: ProjectScope, name: string) =>
    fixture.get(SendingDomainsService).change(scope, name);
  const remove = (scope: ProjectScope) => fixture.get(SendingDomainsService).remove(scope);
  const identity = (scope: ProjectScope) => fixture.get(SendingDomainsQuery).identity(scope);
  const control = () => fixture.get(DomainControlService);
  const selectorsOf = async (scope: ProjectScope) =>
    (await identity(scope))?.keys.map(({ selector }) => selector);

  it('asks for five records, and waits', async () => {
    const { live } = await fixture.project();
    await create(live, 'News.Acme.example');
    const domain = await fixture.view(live);
    expect(domain).toMatchObject({
      id: expect.any(Number),
      domainName: 'news.acme.example',
      domainType: 'CUSTOM',
      status: 'PENDING_VERIFICATION',
      sendingAllowed: false,
      healthScore: null,
      verifiedAt: null,
      verificationAttempts: 0,
    });
    const records = domain.dnsRecords.map(({ recordType, host, expectedValue, status, actualValue }) => [
      recordType,
      host,
      expectedValue,
      status,
      actualValue,
    ]);
    expect(records).toEqual(
      [
        [
          'TXT',
          '_mailwright.news.acme.example',
          expect.stringMatching(/^mailwright-verification=[0-9a-f]{40}$/),
        ],
        [
          'TXT',
          expect.stringMatching(/^mw[0-9a-f]{10}\._domainkey\.news\.acme\.example$/),
          expect.stringMatching(/^v=DKIM1; k=rsa; p=MII[A-Za-z0-9+/]{388,}=*$/),
        ],
        ['TXT', 'bounce.news.acme.example', 'v=spf1 include:spf.mailwright.test ~all'],
        ['MX', 'bounce.news.acme.example', '10 bounces.mailwright.test'],
        ['TXT', '_dmarc.news.acme.example', 'v=DMARC1; p=none'],
      ].map((record) => [...record, 'PENDING', null]),
    );
  });

  it('is verified when all of them stand in DNS, and signs with the key that was published', async () => {
    const { live } = await fixture.project();
    const domain = await fixture.verified(live, 'verified.example');
    expect(domain).toMatchObject({
      status: 'ACTIVE',
      sendingAllowed: true,
      verifiedAt: fixture.clock.now(),
      expiresAt: null,
      healthScore: 100,
      allVerified: true,
      verificationAttempts: 1,
    });
    const found = await identity(live);
    expect(found).toMatchObject({ domainName: 'verified.example', verified: true, sendingAllowed: true });
    expect(found?.returnPathHost).toBe('bounce.verified.example');
    const [key] = found?.keys ?? [];
    const published = domain.dnsRecords.find(({ purpose }) => purpose === 'DKIM');
    expect(published?.host).toBe(`${key?.selector}._domainkey.verified.example`);
    const signature = sign('sha256', Buffer.from('mail'), createPrivateKey(key?.privateKeyPem ?? ''));
    const spki = Buffer.from(/p=(.*)$/.exec(published?.actualValue ?? '')?.[1] ?? '', 'base64');
    const publicKey = createPublicKey({ key: spki, format: 'der', type: 'spki' });
    expect(publicKey.asymmetricKeyDetails?.modulusLength).toBe(2048);
    expect(verify('sha256', Buffer.from('mail'), publicKey, signature)).toBe(true);
  });

  it('tells a client who waits after 15 seconds that no worker has looked at it', async () => {
    const { live } = await fixture.project();
    await create(live, 'unseen.example');
    stopTime();
    try {
      const refused = expect(fixture.get(DomainVerificationService).verify(live)).rejects.toThrow(
        UnavailableError,
      );
      await eventually('the client waits', () => waitingTimers().includes(250));
      passTime(15_001);
      await refused;
    } finally {
      letTimeGo();
    }
  });

  it('has a lower score while its DMARC policy fails mail from hosts below it', async () => {
    const { live } = await fixture.project();
    await fixture.verified(live, 'strict.example');
    const score = async (record: string) => {
      fixture.dns.txt('_dmarc.strict.example', record);
      return (await fixture.check(live)).healthScore;
    };
    expect(await score('v=DMARC1; p=none')).toBe(100);
    expect(await score('v=DMARC1; p=reject')).toBe(100);
    expect(await score('v=DMARC1; p=reject; adkim=s; aspf=s')).toBe(95);
    expect(await score('v=DMARC1; p=reject; aspf=s')).toBe(100);
  });

  it('keeps its private key where neither a dump nor another project can read it', async () => {
    const { live } = await fixture.project();
    await create(live, 'sealed.example');
    const rows = await fixture.database.query<{ private_key_box: string }>(
      'select private_key_box from deliverability.dkim_keys where environment_id = $1',
      [live.environmentId],
    );
    expect(rows[0]?.private_key_box).toMatch(/^v1\.[0-9a-f]{8}\.[A-Za-z0-9_-]+$/);
    const { live: other } = await fixture.project();
    await create(other, 'other.example');
    await fixture.database.query(
      `update deliverability.dkim_keys set private_key_box = $1 where environment_id = $2`,
      [rows[0]?.private_key_box, other.environmentId],
    );
    await expect(identity(other)).rejects.toThrow('sealed for another use or project');
    await remove(other);
  });

  it.each([
    'localhost',
    'com',
    'co.uk',
    'mail.local',
    'acme.invalid',
    'acme.com/news',
    'github.io',
    '192.0.2.1',
    '[2001:db8::1]',
    '2001:db8::1',
    'acme',
    'acme..example',
    '-acme.example',
    'under_score.example',
    'https://acme.example',
    'news@acme.example',
    `${'a'.repeat(64)}.example`,
    `${'a.'.repeat(110)}example`,
    'acme.example:80',
    ' ',
  ])('cannot be %j', async (name) => {
    const { live } = await fixture.project();
    const refusal = await create(live, name).catch((error: unknown) => error);
    expect(refusal).toBeInstanceOf(DomainValidationError);
    expect(refusal).toMatchObject({ errors: { domainName: expect.any(String) } });
  });

  it.each([
    ['Bücher.example', 'xn--bcher-kva.example'],
    ['acme.co.uk', 'acme.co.uk'],
    ['MAIL.ACME.COM', 'mail.acme.com'],
    ['acme.github.io', 'acme.github.io'],
  ])('may be %s', async (given, kept) => {
    const { live } = await fixture.project();
    await create(live, given);
    expect((await fixture.view(live)).domainName).toBe(kept);
    await remove(live);
  });

  it('is one for each environment, however many ask at once; live and test may have the same', async () => {
    const { live, test } = await fixture.project();
    const outcomes = await Promise.allSettled([1, 2, 3, 4].map(() => create(live, 'race.example')));
    expect(outcomes.filter(({ status }) => status === 'fulfilled')).toHaveLength(1);
    for (const outcome of outcomes)
      if (outcome.status === 'rejected') expect(outcome.reason).toBeInstanceOf(SendingDomainExistsError);
    await create(test, 'race.example');
    await fixture.publish(live);
    const records = [...(await fixture.view(live)).dnsRecords, ...(await fixture.view(test)).dnsRecords];
    publishRecords(fixture.dns, records);
    expect((await fixture.check(live)).status).toBe('ACTIVE');
    expect((await fixture.check(test)).status).toBe('ACTIVE');
  });

  it('cannot be another tenant’s that is verified; one that is not verified takes nothing', async () => {
    const { live: first } = await fixture.project();
    const { live: second } = await fixture.project();
    await create(second, 'contested.example');
    await fixture.publish(second);
    const wanted = (await fixture.view(second)).dnsRecords;
    await create(first, 'contested.example');
    publishRecords(fixture.dns, [...wanted, ...(await fixture.view(first)).dnsRecords]);
    expect((await fixture.check(first)).status).toBe('ACTIVE');
    const late = await fixture.check(second);
    expect(late).toMatchObject({ status: 'PENDING_VERIFICATION', sendingAllowed: false });
    expect(late.dnsRecords.filter(({ status }) => status === 'FAILED')).toMatchObject([
      { purpose: 'OWNERSHIP', failureReason: 'MISMATCH: another account has verified this domain' },
    ]);
    const { live: third } = await fixture.project();
    await expect(create(third, 'contested.example')).rejects.toMatchObject({ reason: 'taken' });
    await create(third, 'free.example');
    await expect(change(third, 'contested.example')).rejects.toMatchObject({ reason: 'taken' });
    await remove(first);
    expect((await fixture.check(second)).status).toBe('ACTIVE');
  });

  it('begins anew under another name, and stays as it is under its own', async () => {
    const { live } = await fixture.project();
    const before = await fixture.verified(live, 'before.example');
    const keys = await selectorsOf(live);
    await change(live, 'BEFORE.example');
    expect(await fixture.view(live)).toEqual(before);
    await change(live, 'after.example');
    const after = await fixture.view(live);
    expect(after).toMatchObject({
      id: before.id,
      domainName: 'after.example',
      status: 'PENDING_VERIFICATION',
      sendingAllowed: false,
      verifiedAt: null,
      healthScore: null,
      verificationAttempts: 0,
    });
    expect(after.dnsRecords.every(({ host }) => host.endsWith('after.example'))).toBe(true);
    expect(await selectorsOf(live)).not.toEqual(keys);
    await expect(change(live, 'localhost')).rejects.toBeInstanceOf(DomainValidationError);
  });

  it('is shown as it was at one moment, while its name changes', async () => {
    const { live } = await fixture.project();
    await create(live, 'name0.example');
    const { id } = await fixture.view(live);
    const changed = new AbortController();
    const shown = async () => {
      while (!changed.signal.aborted) {
        const { domainName, dnsRecords } = await fixture.view(live);
        const others = dnsRecords.filter(({ host }) => !host.endsWith(domainName));
        expect(others.map(({ host }) => `${host} of ${domainName}`)).toEqual([]);
      }
    };
    const looks = Promise.allSettled([shown(), shown(), shown()]);
    for (let time = 0; time < 150; time += 1) {
      await fixture.database.query(
        `update deliverability.sending_domains set domain_name = 'name${time % 7}.example' where id = ${id};
         update deliverability.dns_records set host = regexp_replace(host, 'name\\d', 'name${time % 7}')
         where domain_id = ${id}`,
      );
    }
    changed.abort();
    for (const look of await looks) expect(look).toMatchObject({ status: 'fulfilled' });
  });

  it('is gone for who asks for a look at it while it is removed', async () => {
    const { live } = await fixture.project();
    await create(live, 'leaving.example');
    const { id } = await fixture.view(live);
    await remove(live);
    const { clock } = fixture;
    expect(await fixture.get(DomainVerificationService).request(live, id, clock.now())).toBeNull();
  });

  it('is refused by a plan that includes none; one that stands goes on and can be removed', async () => {
    const { live, test } = await fixture.project();
    await create(live, 'included.example');
    fixture.isIncluded = false;
    try {
      const refused = { errors: { plan: 'the plan does not include a sending domain' } };
      await expect(create(test, 'included.example')).rejects.toMatchObject(refused);
      // The plan is asked before the domains that there are already: 422 before 409.
      await expect(create(live, 'another.example')).rejects.toMatchObject(refused);
      await expect(change(live, 'another.example')).rejects.toMatchObject(refused);
      await change(live, 'included.example');
      await fixture.publish(live);
      expect(await fixture.check(live)).toMatchObject({ status: 'ACTIVE', sendingAllowed: true });
      await remove(live);
    } finally {
      fixture.isIncluded = true;
    }
  });

  it('cannot be changed or removed while something sends under them, which is named', async () => {
    const { live } = await fixture.project();
    await create(live, 'busy.example');
    fixture.senders = [{ kind: 'campaign', key: 'ACME-001', name: 'Autumn' }];
    const refusal = 'The sending domain is used by the campaign ACME-001 “Autumn”.';
    await expect(remove(live)).rejects.toThrow(new InUseError('The sending domain', fixture.senders));
    await expect(change(live, 'other-name.example')).rejects.toThrow(refusal);
    fixture.senders = [];
    await remove(live);
    await expect(remove(live)).rejects.toBeInstanceOf(NotFoundError);
    await expect(change(live, 'other-name.example')).rejects.toBeInstanceOf(NotFoundError);
    expect(await identity(live)).toBeNull();
    const left = await fixture.database.query(
      `select id from deliverability.dkim_keys where environment_id = $1`,
      [live.environmentId],
    );
    expect(left).toEqual([]);
  });

  it('sends nothing while the operator has suspended it, and cannot be set up anew meanwhile', async () => {
    const { live } = await fixture.project();
    await fixture.verified(live, 'suspended.example');
    await control().suspend(live, 'Too many complaints.');
    await expect(control().suspend(live, 'Again.')).rejects.toBeInstanceOf(InvalidStateError);
    expect(await fixture.check(live)).toMatchObject({
      status: 'SUSPENDED',
      sendingAllowed: false,
      suspensionReason: 'Too many complaints.',
    });
    expect(await identity(live)).toMatchObject({ verified: false, sendingAllowed: false });
    await expect(remove(live)).rejects.toMatchObject({ currentState: 'SUSPENDED' });
    await expect(change(live, 'elsewhere.example')).rejects.toMatchObject({ currentState: 'SUSPENDED' });
    await control().resume(live);
    expect(await fixture.view(live)).toMatchObject({
      status: 'ACTIVE',
      sendingAllowed: true,
      suspensionReason: null,
    });
    await expect(control().resume(live)).rejects.toBeInstanceOf(InvalidStateError);
  });

  it('waits for its DNS after a suspension when it never was verified', async () => {
    const { live } = await fixture.project();
    await create(live, 'early.example');
    await control().suspend(live, 'Looks like another’s brand.');
    await control().resume(live);
    expect(await fixture.view(live)).toMatchObject({ status: 'PENDING_VERIFICATION', sendingAllowed: false });
  });

  it('changes its key without a gap: the old one signs until the new one stands in DNS', async () => {
    const { live } = await fixture.project();
    await create(live, 'rotating.example');
    await expect(control().rotateKeys(live)).rejects.toMatchObject({ currentState: 'PENDING_VERIFICATION' });
    await fixture.publish(live);
    await fixture.check(live);
    const old = await selectorsOf(live);
    await control().rotateKeys(live);
    await expect(control().rotateKeys(live)).rejects.toBeInstanceOf(InvalidStateError);
    const waiting = await fixture.check(live);
    expect(waiting).toMatchObject({
      status: 'ACTIVE',
      sendingAllowed: true,
      healthScore: 100,
      allVerified: false,
    });
    expect(waiting.dnsRecords).toHaveLength(6);
    expect(await selectorsOf(live)).toEqual(old);
    await fixture.publish(live);
    const switched = await fixture.check(live);
    expect(switched).toMatchObject({ status: 'ACTIVE', healthScore: 100, allVerified: true });
    expect(switched.dnsRecords).toHaveLength(5);
    const current = await selectorsOf(live);
    expect(current).toHaveLength(1);
    expect(current).not.toEqual(old);
    const { instructionsText } = await fixture.get(SendingDomainsQuery).instructions(live);
    expect(instructionsText).toContain(`The record ${old?.[0]}._domainkey (in full:`);
    expect(instructionsText).toContain('Keep it until 2026-03-08');
    fixture.dns.remove(`${old?.[0]}._domainkey.rotating.example`);
    expect(await fixture.check(live)).toMatchObject({ status: 'ACTIVE', allVerified: true });
    fixture.clock.advance(7 * DAY + 1);
    await fixture.get(DomainChecksService).removeOld();
    const after = await fixture.get(SendingDomainsQuery).instructions(live);
    expect(after.instructionsText).not.toContain('signs no more');
    expect(await selectorsOf(live)).toEqual(current);
  });

  it('gets an Ed25519 key beside RSA where that is configured, also when an older domain changes its key', async () => {
    const { live } = await fixture.project();
    const { live: other } = await fixture.project();
    await fixture.verified(live, 'older.example');
    await fixture.restart({ DKIM_ED25519: 'true' });
    await control().rotateKeys(live);
    await fixture.publish(live);
    await fixture.check(live);
    await fixture.verified(other, 'newer.example');
    for (const scope of [live, other]) {
      const keys = (await identity(scope))?.keys ?? [];
      expect(keys.map(({ algorithm }) => algorithm)).toEqual(['rsa-sha256', 'ed25519-sha256']);
      const record = (await fixture.view(scope)).dnsRecords.find(
        ({ key }) => key?.algorithm === 'ed25519-sha256',
      );
      expect(record?.expectedValue).toMatch(/^v=DKIM1; k=ed25519; p=[A-Za-z0-9+/]{43}=$/);
      const x = Buffer.from(record?.expectedValue.slice(-44) ?? '', 'base64').toString('base64url');
      const publicKey = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' });
      const signature = sign(null, Buffer.from('mail'), createPrivateKey(keys[1]?.privateKeyPem ?? ''));
      expect(verify(null, Buffer.from('mail'), publicKey, signature)).toBe(true);
      expect(await fixture.view(scope)).toMatchObject({ status: 'ACTIVE', healthScore: 100 });
    }
    await fixture.restart({});
  });

  it('keeps its keys through a change of the master key, which can be stopped and goes on', async () => {
    const { live } = await fixture.project();
    await create(live, 'resealed.example');
    const before = await identity(live);
    const next = { MASTER_KEY: 'the second master key of this test, long' };
    const previous = {
      MASTER_KEY_PREVIOUS: fixture.variables['MASTER_KEY'] ?? '',
      ERASED_ADDRESS_KEY: fixture.variables['MASTER_KEY'] ?? '',
    };
    await fixture.restart({ ...next, ...previous });
    expect(await identity(live)).toEqual(before);
    const { test } = await fixture.project();
    await create(test, 'already-new.example');
    expect(await fixture.get(DkimKeysService).resealSecrets(2)).toBe(2);
    await fixture.restart({ ...next, ...previous });
    let sealed = 2;
    for (let more = -1; more !== 0; sealed += more)
      more = await fixture.get(DkimKeysService).resealSecrets(5);
    const [all] = await fixture.database.query<{ keys: number }>(
      `select count(*)::int as keys from deliverability.dkim_keys`,
    );
    expect(sealed).toBe((all?.keys ?? 0) - 1);
    await fixture.restart({ ...next, ERASED_ADDRESS_KEY: previous.ERASED_ADDRESS_KEY });
    expect(await identity(live)).toEqual(before);
  });

  it('survives whatever a stranger writes into DNS', async () => {
    const { live } = await fixture.project();
    await create(live, 'strange.example');
    const texts = ['\u0000\u0007nul', 'x'.repeat(20_000), 'v=spf1 include:a..b ~all', 'v=spf1 \u0000'];
    for (const { host, recordType } of (await fixture.view(live)).dnsRecords)
      if (recordType === 'TXT') fixture.dns.txt(host, ...texts);
    const { dnsRecords } = await fixture.check(live);
    expect(dnsRecords.map(({ failureReason }) => failureReason?.split(':')[0])).toEqual([
      'MISMATCH',
      'MISMATCH',
      'MULTIPLE',
      'MISSING',
      'MISSING',
    ]);
    expect(dnsRecords[0]?.actualValue).toHaveLength(4_000);
    expect(dnsRecords[0]?.actualValue).toMatch(/^\ufffd\ufffdnul\nxxx/);
  });

  it('is changed while a check is looking: what the check saw of the old name does not count', async () => {
    const { live } = await fixture.project();
    await create(live, 'old-name.example');
    await fixture.publish(live);
    fixture.dns.fail('silence', (await fixture.view(live)).dnsRecords[0]?.host);
    const checking = fixture.check(live);
    await change(live, 'new-name.example');
    const after = await checking;
    expect(after).toMatchObject({ domainName: 'new-name.example', status: 'PENDING_VERIFICATION' });
    expect(
      after.dnsRecords.map(({ status, failureReason }) => `${status} ${failureReason?.split(':')[0]}`),
    ).toEqual(Array(5).fill('FAILED MISSING'));
  });

  it('asks for the hosts that the settings name by now, says what they replace, and sends meanwhile', async () => {
    const { live } = await fixture.project();
    await fixture.verified(live, 'moving.example');
    await fixture.restart({ SPF_INCLUDE: 'spf.new.example', BOUNCE_HOST: 'bounces.new.example' });
    try {
      await fixture.database.query(
        `update deliverability.sending_domains set next_check_at = now() + interval '1 day'`,
      );
      expect(await fixture.runDueChecks()).toBeGreaterThan(0);
      const moved = await fixture.view(live);
      expect([moved.status, moved.sendingAllowed]).toEqual(['ACTIVE', true]);
      const spf = moved.dnsRecords.find(({ expectedValue }) => expectedValue?.startsWith('v=spf1'));
      expect(spf).toMatchObject({
        expectedValue: 'v=spf1 include:spf.new.example ~all',
        status: 'FAILED',
        failureReason: expect.stringMatching(/Replace v=spf1 include:spf\.mailwright\.test ~all/),
      });
      const { instructionsText } = await fixture.get(SendingDomainsQuery).instructions(live);
      expect(instructionsText).toContain('Instead of 10 bounces.mailwright.test');
      await fixture.publish(live);
      const { dnsRecords, allVerified } = await fixture.check(live);
      expect(dnsRecords.map(({ failureReason }) => failureReason)).toEqual(dnsRecords.map(() => null));
      expect(allVerified).toBe(true);
      expect(await fixture.runDueChecks()).toBe(0);
    } finally {
      await fixture.restart({});
    }
  });

  it('explains each record to someone who has the form of a registrar open', async () => {
    const { test } = await fixture.project();
    await create(test, 'news.acme.co.uk');
    const { domainName, requiredRecords, instructionsText } = await fixture
      .get(SendingDomainsQuery)
      .instructions(test);
    expect(domainName).toBe('news.acme.co.uk');
    expect(requiredRecords).toHaveLength(5);
    for (const { recordType, host, expectedValue } of requiredRecords) {
      expect(instructionsText).toContain(`Type:  ${recordType}`);
      expect(instructionsText).toContain(`Host:  ${host.replace('.acme.co.uk', '')}   (in full: ${host})`);
      expect(instructionsText).toContain(`Value: ${expectedValue}\n`);
    }
    expect(instructionsText).toContain('where the DNS of acme.co.uk is managed');
    expect(instructionsText).not.toMatch(/pct=/);
  });
});
