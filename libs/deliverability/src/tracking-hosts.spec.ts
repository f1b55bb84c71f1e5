import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import type { ProjectScope } from '#kernel';
import { DAY, DeliverabilityFixture, HOUR, MINUTE } from '#testing/fixtures/deliverability';
import { TrackingHostChecksService } from './tracking-host-checks.service.js';
import { TrackingHostsQuery } from './tracking-hosts.query.js';

const PUBLIC_URL = 'https://mail.mailwright.example:8443/base';
const TARGET = 'mail.mailwright.example';

describe('A tracking host', () => {
  let fixture: DeliverabilityFixture;
  let scope: ProjectScope;
  let host: string;
  let hosts = 0;

  beforeAll(async () => {
    fixture = await DeliverabilityFixture.start({ PUBLIC_URL });
    fixture.dns.a(TARGET, '192.0.2.1', '192.0.2.2');
  });
  afterAll(() => fixture.stop());
  beforeEach(async () => {
    scope = (await fixture.project()).live;
    host = await named(scope, `links${(hosts += 1)}.acme.example`);
  });

  async function named<Name extends string | null>(of: ProjectScope, name: Name): Promise<Name> {
    await fixture.database.query(`update access.projects set tracking_host = $2 where id = $1`, [
      of.projectId,
      name,
    ]);
    return name;
  }
  const view = (of = scope, trackingHost = host) =>
    fixture.get(TrackingHostsQuery).view(of, { trackingHost });
  const linkBase = (trackingHost: string | null = host) =>
    fixture.get(TrackingHostsQuery).linkBase(scope, { trackingHost });
  const ownerOf = (name = host) => fixture.get(TrackingHostsQuery).ownerOf(name);
  async function look(name = host, of = scope) {
    await fixture.get(TrackingHostChecksService).run(of, { host: name });
    return view(of, name);
  }
  /** Hosts that the schedule has looked at now. */
  async function due(): Promise<readonly string[]> {
    await fixture.database.query(`delete from platform.jobs`);
    await fixture.get(TrackingHostChecksService).requestDue();
    const asked = await fixture.database.query<{ host: string }>(
      `select payload->>'host' as host from platform.jobs`,
    );
    return asked.map((row) => row.host).filter((name) => name === host);
  }

  it('is not used before it was seen to point here, and says what to publish', async () => {
    expect(await view()).toEqual({
      status: 'PENDING',
      checkedAt: null,
      lastError: null,
      expectedRecord: { type: 'CNAME', name: host, value: TARGET },
    });
    expect(await look()).toMatchObject({ status: 'FAILED', lastError: 'MISSING: the name does not exist' });
    expect([await linkBase(), await ownerOf()]).toEqual([PUBLIC_URL, null]);
    expect(await linkBase(null)).toBe(PUBLIC_URL);
  });

  it.each<[string, (name: string) => void, string]>([
    ['is a CNAME of it', (name) => fixture.dns.cname(name, TARGET.toUpperCase()), 'VERIFIED'],
    ['has its addresses', (name) => fixture.dns.a(name, '192.0.2.2', '192.0.2.1'), 'VERIFIED'],
    ['has one of its addresses', (name) => fixture.dns.a(name, '192.0.2.2'), 'VERIFIED'],
    ['has another address besides', (name) => fixture.dns.a(name, '192.0.2.1', '192.0.2.9'), 'FAILED'],
    ['is a CNAME of another', (name) => fixture.dns.cname(name, 'other.example', 'complete'), 'FAILED'],
  ])('that %s', async (_what, publish, status) => {
    publish(host);
    expect(await look()).toMatchObject({ status, checkedAt: fixture.clock.now() });
    const isVerified = status === 'VERIFIED';
    expect(await linkBase()).toBe(isVerified ? `https://${host}` : PUBLIC_URL);
    expect(await ownerOf()).toEqual(
      isVerified ? { isVerified, environmentIds: [expect.any(Number), expect.any(Number)] } : null,
    );
  });

  it('that leads elsewhere is told where it leads', async () => {
    fixture.dns.a(host, '192.0.2.1', '192.0.2.9');
    expect(await look()).toMatchObject({
      lastError: `MISMATCH: it leads to 192.0.2.9 and must lead to ${TARGET}`,
    });
  });

  it('is looked for often at first, up to three days, and again when it is named again', async () => {
    await look();
    expect(await due()).toEqual([]);
    fixture.clock.advance(MINUTE);
    expect([await due(), await due()]).toEqual([[host], []]);
    await look();
    fixture.clock.advance(3 * DAY);
    expect(await due()).toEqual([host]);
    await look();
    fixture.clock.advance(10 * DAY);
    expect(await due()).toEqual([]);
    fixture.dns.cname(host, TARGET);
    expect(await look()).toMatchObject({ status: 'VERIFIED', lastError: null });
  });

  it('is used until it was wrong for a day, several times', async () => {
    fixture.dns.cname(host, TARGET);
    await look();
    fixture.dns.remove(host);
    fixture.clock.advance(DAY);
    expect(await due()).toEqual([host]);
    expect(await look()).toMatchObject({ status: 'VERIFIED', lastError: expect.stringMatching(/^MISSING/) });
    fixture.clock.advance(HOUR);
    expect(await due()).toEqual([host]);
    await look();
    expect(await linkBase()).toBe(`https://${host}`);
    fixture.clock.advance(DAY);
    expect(await look()).toMatchObject({ status: 'FAILED' });
    // Its mails are on their way: what comes by it still comes to their project alone.
    expect([await linkBase(), await ownerOf()]).toEqual([
      PUBLIC_URL,
      { isVerified: false, environmentIds: expect.any(Array) },
    ]);
  });

  it('is used on while nobody knows where it points', async () => {
    fixture.dns.cname(host, TARGET);
    await look();
    fixture.dns.fail('SERVFAIL', host);
    for (let day = 1; day <= 4; day += 1) {
      fixture.clock.advance(DAY);
      expect(await due()).toEqual([host]);
      expect(await look()).toMatchObject({
        status: 'VERIFIED',
        lastError: expect.stringMatching(/^DNS_ERROR/),
      });
    }
    fixture.dns.fail(null, host);
    expect(await look()).toMatchObject({ status: 'VERIFIED', lastError: null });
  });

  it('that a project names no more serves its mails for as long as it points here', async () => {
    fixture.dns.cname(host, TARGET);
    await look();
    await named(scope, null);
    fixture.clock.advance(DAY);
    expect(await due()).toEqual([host]);
    expect(await look()).toMatchObject({ status: 'VERIFIED' });
    expect(await ownerOf()).toMatchObject({ isVerified: true });
    fixture.dns.remove(host);
    for (let time = 1; time <= 3; time += 1) {
      fixture.clock.advance(DAY);
      await look();
    }
    expect([await ownerOf(), await due()]).toEqual([null, []]);
  });

  it('belongs to the project that names it now', async () => {
    fixture.dns.cname(host, TARGET);
    await look();
    const before = await ownerOf();
    await named(scope, null);
    const { live } = await fixture.project();
    await named(live, host);
    expect(await ownerOf()).toEqual(before);
    await look(host, live);
    expect((await ownerOf())?.environmentIds).toContain(live.environmentId);
    expect((await ownerOf())?.environmentIds).not.toContain(scope.environmentId);
  });

  it('is not looked at for a project that has never named it', async () => {
    const other = 'links.other.example';
    fixture.dns.cname(other, TARGET);
    await fixture.get(TrackingHostChecksService).run(scope, { host: other });
    expect(await ownerOf(other)).toBeNull();
  });
});
