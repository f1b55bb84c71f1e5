import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { eventually } from '#testing/time/eventually';
import { DAY, DeliverabilityFixture } from '#testing/fixtures/deliverability';
import type { RecordPurpose } from '../dns/dns-record.js';
import type { WantedRelay } from '../relays/relay.js';
import { RelaysService } from '../relays/relays.service.js';
import { SendingDomainsQuery } from './sending-domains.query.js';
import { DomainControlService, SendingDomainsService } from './sending-domains.service.js';

const ACTIVE = { status: 'ACTIVE', sendingAllowed: true };

describe('A sending domain of who has relays', () => {
  let fixture: DeliverabilityFixture;
  let scope: ProjectScope;
  let domainNumber = 0;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start();
  });
  afterAll(() => fixture?.stop());

  const relays = () => fixture.get(RelaysService);
  const add = async (wanted: Partial<WantedRelay> & Pick<WantedRelay, 'kind'>) => {
    // An address, so that nobody looks it up.
    const all = { name: wanted.kind, host: '8.8.8.8', port: 587, secrets: {}, ...wanted };
    return (await relays().create(scope, all)).relayKey;
  };
  const remove = (relayKey: string) => relays().remove(scope, relayKey);
  const shown = async () => (await fixture.view(scope)).dnsRecords.map(({ purpose }) => purpose);
  const recordOf = async (purpose: RecordPurpose) =>
    (await fixture.view(scope)).dnsRecords.find((record) => record.purpose === purpose);
  const check = () => fixture.check(scope);

  /** A domain of its own; what its relays need stands in DNS. */
  const begin = async (...wanted: Parameters<typeof add>[0][]): Promise<string[]> => {
    if (scope !== undefined) await fixture.get(SendingDomainsService).remove(scope);
    scope = (await fixture.project()).live;
    const keys = [];
    for (const each of wanted) keys.push(await add(each));
    await fixture.get(SendingDomainsService).create(scope, `relayed${(domainNumber += 1)}.example`);
    await fixture.publish(scope);
    return keys;
  };
  const statesOverDays = async (days: number) => {
    const states = [];
    for (let day = 0; day < days; day += 1) {
      fixture.clock.advance(DAY);
      await fixture.runDueChecks();
      const { status, sendingAllowed } = await fixture.view(scope);
      states.push({ status, sendingAllowed });
    }
    return states;
  };

  it('asks only for the records that they need, and is ACTIVE with those', async () => {
    await begin({ kind: 'SES' });
    expect(await shown()).toEqual(['OWNERSHIP', 'DKIM', 'DMARC']);
    expect(await check()).toMatchObject({ ...ACTIVE, allVerified: true, healthScore: 100 });
    await begin({ kind: 'POSTMARK' });
    expect(await shown()).toEqual(['OWNERSHIP', 'DMARC']);
    expect(await check()).toMatchObject({ ...ACTIVE, allVerified: true, healthScore: 100 });
  });

  it('is told in its instructions that providers ask for records of their own', async () => {
    const [ses] = await begin({ kind: 'SES' });
    const text = async () => (await fixture.get(SendingDomainsQuery).instructions(scope)).instructionsText;
    expect(await text()).toContain('add these 3 records');
    expect(await text()).toContain('for which the provider of a relay asks');
    expect(await text()).not.toMatch(/\(SPF\)|Type: +MX/);
    await remove(ses!);
    expect(await text()).toContain('add these 5 records');
    expect(await text()).toMatch(/\(SPF\)[^]*Type: +MX/);
    expect(await text()).not.toContain('the provider of a relay');
  });

  it('needs what a paused relay needs, and nothing for those of others', async () => {
    const [own] = await begin({ kind: 'SMTP' }, { kind: 'SES' });
    await relays().change(scope, own!, { status: 'PAUSED', secrets: {} });
    expect(await shown()).toHaveLength(5);
    await remove(own!);
    expect(await shown()).toHaveLength(3);
    const other = (await fixture.project()).live;
    await relays().create(other, { kind: 'SMTP', name: 'x', host: '8.8.8.8', port: 25, secrets: {} });
    expect(await shown()).toHaveLength(3);
  });

  it('is ACTIVE at the next check when a relay makes the missing records needless', async () => {
    await begin();
    fixture.dns.remove((await recordOf('SPF'))!.host);
    expect(await check()).toMatchObject({ status: 'PENDING_VERIFICATION' });
    await add({ kind: 'SES' });
    expect(await check()).toMatchObject({ ...ACTIVE, allVerified: true });
  });

  it('has the grace of lost records for those that it needs again', async () => {
    const [ses] = await begin({ kind: 'SES' });
    expect(await check()).toMatchObject(ACTIVE);
    await remove(ses!);
    expect(await fixture.view(scope)).toMatchObject({ ...ACTIVE, allVerified: false });
    expect(await recordOf('SPF')).toMatchObject({ status: 'PENDING', failureReason: null });
    const degraded = { status: 'DEGRADED', sendingAllowed: true };
    expect(await statesOverDays(5)).toEqual([ACTIVE, ACTIVE, ACTIVE, degraded, degraded]);
    expect(await recordOf('SPF')).toMatchObject({ failureReason: 'MISSING: the name does not exist' });
    await fixture.publish(scope);
    expect(await check()).toMatchObject({ ...ACTIVE, allVerified: true });
  });

  it('stops its mail for a missing DKIM record only while a relay needs it', async () => {
    const [postmark] = await begin({ kind: 'POSTMARK' });
    expect(await check()).toMatchObject(ACTIVE);
    await remove(postmark!);
    const degraded = { status: 'DEGRADED', sendingAllowed: false };
    expect(await statesOverDays(4)).toEqual([ACTIVE, ACTIVE, ACTIVE, degraded]);
    await add({ kind: 'POSTMARK' });
    expect(await check()).toMatchObject({ ...ACTIVE, expiresAt: null });
  });

  it('forgets what was wrong with a record while nothing needed it', async () => {
    await begin();
    await check();
    const { host } = (await recordOf('MX'))!;
    fixture.dns.remove(host);
    expect(await statesOverDays(4)).toContainEqual({ status: 'DEGRADED', sendingAllowed: true });
    const ses = await add({ kind: 'SES' });
    expect(await statesOverDays(1)).toEqual([ACTIVE]);
    await remove(ses);
    expect(await recordOf('MX')).toMatchObject({ status: 'PENDING', failures: 0, lastCheckedAt: null });
    expect(await statesOverDays(3)).toEqual([ACTIVE, ACTIVE, ACTIVE]);
  });

  it('is looked at again when its relays change while a check is looking', async () => {
    const [ses] = await begin({ kind: 'SES' });
    const { host } = (await recordOf('OWNERSHIP'))!;
    fixture.dns.fail('silence', host);
    const checking = check();
    await eventually('the check looks', () => fixture.dns.questions.some((asked) => asked.includes(host)));
    await remove(ses!);
    fixture.dns.fail(null);
    const after = await checking;
    expect(after.status).toBe('PENDING_VERIFICATION');
    expect(await recordOf('MX')).toMatchObject({
      status: 'FAILED',
      failureReason: expect.stringMatching(/^MISSING/),
    });
  });

  it('changes its keys only while a relay sends mail that they sign', async () => {
    const rotate = () => fixture.get(DomainControlService).rotateKeys(scope);
    await begin();
    await check();
    await rotate();
    await fixture.publish(scope);
    const relaySigning = await add({ kind: 'SMTP', signing: 'RELAY' });
    expect(await check()).toMatchObject({ ...ACTIVE, allVerified: true });
    await remove(relaySigning);
    expect((await shown()).filter((purpose) => purpose === 'DKIM')).toHaveLength(2);
    expect(await check()).toMatchObject({ ...ACTIVE, allVerified: true });
    expect((await shown()).filter((purpose) => purpose === 'DKIM')).toHaveLength(1);
    await add({ kind: 'POSTMARK' });
    await expect(rotate()).rejects.toMatchObject({ message: 'No relay sends mail that its keys sign.' });
  });
});
