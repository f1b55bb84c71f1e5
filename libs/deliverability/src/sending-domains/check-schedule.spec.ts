import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { DAY, DeliverabilityFixture, HOUR, MINUTE } from '#testing/fixtures/deliverability';
import { DomainChecksService } from './domain-checks.service.js';
import type { SendingDomainView } from './sending-domains.query.js';
import { DomainControlService, SendingDomainsService } from './sending-domains.service.js';

describe('The schedule of a domain’s checks', () => {
  let fixture: DeliverabilityFixture;
  let scope: ProjectScope;
  let domainNumber = 0;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start();
  });
  afterAll(() => fixture?.stop());

  const nextName = () => `domain${(domainNumber += 1)}.example`;
  const view = () => fixture.view(scope);
  const hostOf = async (purpose: string) =>
    (await view()).dnsRecords.find((record) => record.purpose === purpose)?.host ?? '';
  const recordOf = async (purpose: string) =>
    (await view()).dnsRecords.find((record) => record.purpose === purpose);

  /** A domain of its own, and nobody else's checks. */
  const begin = async () => {
    if (scope !== undefined) await fixture.get(SendingDomainsService).remove(scope);
    scope = (await fixture.project()).live;
    await fixture.get(SendingDomainsService).create(scope, nextName());
  };
  const beginVerified = async () => {
    await begin();
    await fixture.publish(scope);
    expect((await fixture.check(scope)).status).toBe('ACTIVE');
  };

  /** Lets `duration` pass in small steps; the moments of the checks meanwhile, in minutes since `start`. */
  const pass = async (duration: number, start: number, step = 5 * MINUTE): Promise<number[]> => {
    const checks: number[] = [];
    for (const end = fixture.clock.now().getTime() + duration; fixture.clock.now().getTime() < end;) {
      fixture.clock.advance(step);
      if ((await fixture.runDueChecks()) > 0) checks.push((fixture.clock.now().getTime() - start) / MINUTE);
    }
    return checks;
  };

  it('looks after 1, 5 and 15 minutes, 1 hour, then every 6 hours, and gives up after 72', async () => {
    await begin();
    const start = fixture.clock.now().getTime();
    const early = await pass(20 * MINUTE, start, MINUTE);
    expect(early).toEqual([1, 5, 15]);
    const later = await pass(80 * HOUR, start, 20 * MINUTE);
    const hours = [1, 7, 13, 19, 25, 31, 37, 43, 49, 55, 61, 67, 72];
    expect(later).toEqual(hours.map((hour) => hour * 60));
    expect(await view()).toMatchObject({
      status: 'VERIFICATION_FAILED',
      nextCheckAt: null,
      verificationAttempts: 16,
    });
  });

  it('begins anew when someone asks', async () => {
    expect((await view()).status).toBe('VERIFICATION_FAILED');
    const start = fixture.clock.now().getTime();
    expect(await fixture.check(scope)).toMatchObject({ status: 'PENDING_VERIFICATION' });
    expect(await pass(20 * MINUTE, start, MINUTE)).toEqual([1, 5, 15]);
    await fixture.publish(scope);
    expect(await pass(HOUR, start, 5 * MINUTE)).toEqual([60]);
    expect(await view()).toMatchObject({ status: 'ACTIVE', sendingAllowed: true });
  });

  it('looks daily at what is verified', async () => {
    await beginVerified();
    const start = fixture.clock.now().getTime();
    expect(await pass(4 * DAY, start, HOUR)).toEqual([1, 2, 3, 4].map((day) => day * 24 * 60));
  });

  it('does not give up while nobody can find out', async () => {
    await begin();
    fixture.dns.fail('SERVFAIL');
    await pass(80 * HOUR, 0, HOUR);
    const waiting = await view();
    expect(waiting.status).toBe('PENDING_VERIFICATION');
    expect(waiting.dnsRecords.map(({ status }) => status)).toEqual(Array(5).fill('FAILED'));
    expect(waiting.dnsRecords[0]?.failureReason).toMatch(/^DNS_ERROR: .*SERVFAIL/);
    fixture.dns.fail(null);
    await pass(6 * HOUR, 0, HOUR);
    expect((await view()).status).toBe('VERIFICATION_FAILED');
  });

  it.each(['SERVFAIL', 'REFUSED'] as const)(
    'leaves a verified domain ACTIVE through ten times %s',
    async (fault) => {
      await beginVerified();
      const before = await view();
      fixture.dns.fail(fault);
      for (let day = 1; day <= 10; day += 1) {
        fixture.clock.advance(DAY);
        expect(await fixture.runDueChecks()).toBe(1);
        expect(await view()).toMatchObject({ status: 'ACTIVE', sendingAllowed: true, allVerified: false });
      }
      const after = await view();
      expect(after.healthScore).toBe(before.healthScore);
      expect(after.dnsRecords.map(({ status, actualValue }) => [status, actualValue])).toEqual(
        before.dnsRecords.map(({ status, actualValue }) => [status, actualValue]),
      );
      expect(after.dnsRecords[0]?.failureReason).toMatch(new RegExp(`^DNS_ERROR: .*${fault}`));
      fixture.dns.fail(null);
      expect(await fixture.check(scope)).toMatchObject({ status: 'ACTIVE', allVerified: true });
    },
  );

  const statesOverDays = async (
    days: number,
  ): Promise<Pick<SendingDomainView, 'status' | 'sendingAllowed'>[]> => {
    const states = [];
    for (let day = 0; day < days; day += 1) {
      fixture.clock.advance(DAY);
      await fixture.runDueChecks();
      const { status, sendingAllowed } = await view();
      states.push({ status, sendingAllowed });
    }
    return states;
  };
  const ACTIVE = { status: 'ACTIVE', sendingAllowed: true };

  it('degrades a domain whose DKIM record is gone for 72 hours, and stops its mail', async () => {
    await beginVerified();
    fixture.dns.remove(await hostOf('DKIM'));
    const degraded = { status: 'DEGRADED', sendingAllowed: false };
    expect(await statesOverDays(5)).toEqual([ACTIVE, ACTIVE, ACTIVE, degraded, degraded]);
    expect(await recordOf('DKIM')).toMatchObject({
      status: 'FAILED',
      failureReason: 'MISSING: the name does not exist',
      actualValue: null,
    });
    await fixture.publish(scope);
    expect(await fixture.check(scope)).toMatchObject({ ...ACTIVE, expiresAt: null });
  });

  it('degrades a domain without another record, and lets its mail go on', async () => {
    await beginVerified();
    fixture.dns.mx(await hostOf('MX'), { preference: 10, exchange: 'elsewhere.example' });
    const degraded = { status: 'DEGRADED', sendingAllowed: true };
    expect(await statesOverDays(4)).toEqual([ACTIVE, ACTIVE, ACTIVE, degraded]);
    expect(await recordOf('MX')).toMatchObject({
      failureReason: expect.stringMatching(/^MISMATCH: /),
      actualValue: '10 elsewhere.example',
    });
  });

  it('does not degrade a domain for many failures in a short time', async () => {
    await beginVerified();
    fixture.dns.remove(await hostOf('DKIM'));
    for (let check = 0; check < 20; check += 1) {
      fixture.clock.advance(HOUR);
      expect(await fixture.check(scope)).toMatchObject(ACTIVE);
    }
    await fixture.publish(scope);
    expect(await fixture.check(scope)).toMatchObject(ACTIVE);
    fixture.dns.remove(await hostOf('DKIM'));
    expect(await statesOverDays(3)).toEqual([ACTIVE, ACTIVE, ACTIVE]);
  });

  it('does not degrade a domain on a day when nobody can find out', async () => {
    await beginVerified();
    const host = await hostOf('DKIM');
    fixture.dns.remove(host);
    expect(await statesOverDays(3)).toEqual([ACTIVE, ACTIVE, ACTIVE]);
    fixture.dns.fail('SERVFAIL', host);
    expect(await statesOverDays(4)).toEqual([ACTIVE, ACTIVE, ACTIVE, ACTIVE]);
    fixture.dns.fail(null, host);
    expect(await statesOverDays(1)).toEqual([{ status: 'DEGRADED', sendingAllowed: false }]);
    fixture.dns.fail('SERVFAIL', host);
    expect(await statesOverDays(1)).toEqual([{ status: 'DEGRADED', sendingAllowed: false }]);
    fixture.dns.fail(null, host);
  });

  it('gives up a degraded domain after 30 days; asked again, it begins anew', async () => {
    await beginVerified();
    fixture.dns.remove(await hostOf('DKIM'));
    await statesOverDays(4);
    expect(await statesOverDays(30)).toContainEqual({ status: 'EXPIRED', sendingAllowed: false });
    expect((await view()).nextCheckAt).toBeNull();
    expect(await fixture.check(scope)).toMatchObject({ status: 'PENDING_VERIFICATION', verifiedAt: null });
    const other = (await fixture.project()).live;
    await fixture.get(SendingDomainsService).create(other, (await view()).domainName);
    await fixture.get(SendingDomainsService).remove(other);
    await fixture.publish(scope);
    expect(await fixture.check(scope)).toMatchObject(ACTIVE);
  });

  it('takes no name any more once it was given up, whoever has it looked at or stops it', async () => {
    await beginVerified();
    const { domainName } = await view();
    fixture.dns.remove(await hostOf('DKIM'));
    await statesOverDays(34);
    expect((await view()).status).toBe('EXPIRED');
    const control = fixture.get(DomainControlService);
    await control.suspend(scope, 'Looks abandoned.');
    await control.resume(scope);
    expect(await view()).toMatchObject({
      status: 'PENDING_VERIFICATION',
      sendingAllowed: false,
      verifiedAt: null,
    });
    const other = (await fixture.project()).live;
    await fixture.get(SendingDomainsService).create(other, domainName);
    await fixture.get(SendingDomainsService).remove(other);
  });

  it('lets mail go on as soon as the DKIM record is back, also when another one is wrong by then', async () => {
    await beginVerified();
    fixture.dns.remove(await hostOf('DKIM'));
    expect(await statesOverDays(4)).toContainEqual({ status: 'DEGRADED', sendingAllowed: false });
    await fixture.publish(scope);
    fixture.dns.remove(await hostOf('DMARC'));
    expect(await fixture.check(scope)).toMatchObject({ status: 'DEGRADED', sendingAllowed: true });
    await fixture.publish(scope);
    expect(await fixture.check(scope)).toMatchObject(ACTIVE);
  });

  it('looks for a new key’s record as often as for a new domain’s', async () => {
    await beginVerified();
    const start = fixture.clock.now().getTime();
    await fixture.get(DomainControlService).rotateKeys(scope);
    expect(await pass(20 * MINUTE, start, MINUTE)).toEqual([1, 5, 15]);
    await fixture.publish(scope);
    await pass(HOUR, start, 5 * MINUTE);
    expect(await view()).toMatchObject({ ...ACTIVE, allVerified: true });
    expect((await view()).dnsRecords).toHaveLength(5);
  });

  it('asks again when a check did not come about', async () => {
    await begin();
    const asked = async () => {
      await fixture.get(DomainChecksService).requestDue();
      const [row] = await fixture.database.query<{ checks: number }>(
        `select count(*)::int as checks from deliverability.domain_checks where environment_id = $1`,
        [scope.environmentId],
      );
      return row?.checks;
    };
    fixture.clock.advance(MINUTE);
    expect(await asked()).toBe(1);
    expect(await asked()).toBe(1);
    fixture.clock.advance(15 * MINUTE);
    expect(await asked()).toBe(2);
  });
});
