import { once } from 'node:events';
import { createServer, type Server } from 'node:https';
import type { AddressInfo } from 'node:net';
import { getCACertificates, setDefaultCACertificates } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type ProjectScope } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { Database, OutgoingHttp } from '#platform';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { createProject } from '#testing/fixtures/fixtures';
import { localhostCertificate } from '#testing/servers/localhost-certificate';
import { accessEntities } from './access-tables.js';
import { ProjectRepository, ProjectsQuery } from './project.repository.js';
import { ProjectsService } from './projects.service.js';
import { TenantsService } from './tenants.service.js';

const NOW = new Date('2026-03-01T00:00:00.000Z');
const clock = new ManualClock(NOW);
const OWN_HOSTS = { PUBLIC_URL: 'https://mail.example', BOUNCE_HOST: 'bounces.sender.example' };
const PNG = '89504e470d0a1a0a0000000d49484452';
const PICTURES: Readonly<Record<string, string>> = {
  '/png': PNG,
  '/jpeg': 'ffd8ffe000104a464946',
  '/gif': Buffer.from('GIF89a').toString('hex'),
  '/webp': Buffer.from('RIFF\x10\0\0\0WEBPVP8 ').toString('hex'),
};
const OTHERS: Readonly<Record<string, string>> = {
  '/svg': Buffer.from('<svg xmlns="http://www.w3.org/2000/svg"/>').toString('hex'),
  '/html': Buffer.from('<!doctype html><img src=x>').toString('hex'),
  '/empty': '',
  '/cut': '89504e47',
};

describe('The settings of a project', () => {
  let test: TestDatabase;
  let database: Database;
  let http: OutgoingHttp;
  let settings: ProjectsService;
  let host: Server;
  let scope: ProjectScope;
  let inTest: ProjectScope;
  let other: ProjectScope;
  const asked: string[] = [];
  const trusted = getCACertificates('default');

  beforeAll(async () => {
    test = await createTestDatabase();
    const [mine, others] = [await createProject(test), await createProject(test)];
    [scope, inTest, other] = [mine.live, mine.test, others.live];
    database = await Database.connect({
      url: test.url,
      poolSize: 4,
      applicationName: 'spec',
      entities: accessEntities,
    });
    setDefaultCACertificates([...trusted, localhostCertificate.cert]);
    host = createServer(localhostCertificate, (request, response) => {
      const path = request.url ?? '';
      asked.push(path);
      if (path === '/large') return response.end(Buffer.alloc(1_100_000, Buffer.from(PNG, 'hex')));
      const content = PICTURES[path] ?? OTHERS[path];
      response.writeHead(content === undefined ? 404 : 200, { 'content-type': 'image/png' });
      response.end(Buffer.from(content ?? PNG, 'hex'));
    });
    host.listen(0, '127.0.0.1');
    await once(host, 'listening');
    http = new OutgoingHttp({
      addressesOf: () => Promise.resolve(['127.0.0.1']),
      allows: (address) => address === '127.0.0.1',
    });
    settings = settingsBy(http);
  });

  afterAll(async () => {
    setDefaultCACertificates(trusted);
    await http.close();
    host.close();
    await database.close();
    await test.drop();
  });

  const settingsBy = (client: OutgoingHttp) =>
    new ProjectsService(
      database,
      new TenantsService(database, clock),
      new ProjectRepository(database),
      new ProjectsQuery(database),
      client,
      OWN_HOSTS,
      clock,
    );
  const logoAt = (path: string) => `https://localhost:${(host.address() as AddressInfo).port}${path}`;

  it('are changed in what is named, for both environments and for no other project', async () => {
    const before = await new ProjectsQuery(database).ofScope(other);
    const changes = {
      name: ' Acme Neuigkeiten ',
      senderName: 'Acme GmbH',
      defaultFromEmail: 'news@acme.example',
      replyTo: ' team@acme.example ',
      postalAddress: 'Hauptstraße 1\n10115 Berlin',
      defaultLocale: 'de-at',
      timeZone: 'Europe/Vienna',
      logoUrl: logoAt('/png'),
      color: '#1A73E8',
    };
    const changed = await settings.changeSettings(scope, changes);
    expect(changed).toMatchObject({
      ...changes,
      name: 'Acme Neuigkeiten',
      replyTo: 'team@acme.example',
      defaultLocale: 'de-AT',
      color: '#1a73e8',
      updatedAt: NOW,
    });
    expect(await new ProjectsQuery(database).ofScope(inTest)).toEqual({ ...changed, environment: 'TEST' });
    expect(await new ProjectsQuery(database).ofScope(other)).toEqual(before);

    const cleared = await settings.changeSettings(inTest, { logoUrl: null, color: null, replyTo: null });
    expect(cleared).toEqual({
      ...changed,
      environment: 'TEST',
      logoUrl: null,
      color: null,
      replyTo: null,
    });
  });

  it('are refused with all that is wrong with them, and nothing is written', async () => {
    const before = await new ProjectsQuery(database).ofScope(scope);
    const changes = {
      name: 'Never written',
      replyTo: 'team',
      defaultLocale: 'sw',
      timeZone: 'Europe/Atlantis',
      logoUrl: logoAt('/svg'),
      color: '#ffff00',
    };
    await expect(settings.changeSettings(scope, changes)).rejects.toMatchObject({
      errors: {
        replyTo: 'is not an e-mail address',
        defaultLocale: expect.stringContaining('must be one of the languages en, de,'),
        timeZone: 'must be an IANA time zone, such as Europe/Berlin',
        'brand.logoUrl': 'must be a PNG, JPEG, GIF or WebP image',
        'brand.color': 'must be darker: its contrast with white is 1, must be at least 3',
      },
    });
    await expect(settings.changeSettings(scope, { defaultLocale: 'german' })).rejects.toMatchObject({
      errors: { defaultLocale: 'must be a BCP 47 language tag, such as de or pt-BR' },
    });
    expect(await new ProjectsQuery(database).ofScope(scope)).toEqual(before);
  });

  it.each(Object.keys(PICTURES))('take %s as a logo', async (path) => {
    expect(await settings.changeSettings(scope, { logoUrl: logoAt(path) })).toMatchObject({
      logoUrl: logoAt(path),
    });
  });

  it.each([
    ...Object.keys(OTHERS).map((path) => [path, 'must be a PNG, JPEG, GIF or WebP image'] as const),
    ['/large', 'must be an image that anyone can load. Its answer is larger than 1 MB.'],
    ['/nothing', 'must be an image that anyone can load: its host answered with 404'],
  ])('refuse %s as a logo, whatever its type says', async (path, fault) => {
    await expect(settings.changeSettings(scope, { logoUrl: logoAt(path) })).rejects.toMatchObject({
      errors: { 'brand.logoUrl': fault },
    });
  });

  it.each([
    ['http://acme.example/logo.png', 'must be an https URL'],
    ['logo.png', 'must be an https URL'],
    ['https://acme.example/\u0000.png', 'must be an https URL'],
    ['https://acme.example/\ud800.png', 'must be an https URL'],
    ['https://user:secret@acme.example/logo.png', 'must not carry a user name or a password'],
    [`https://acme.example/${'x'.repeat(2000)}`, 'must be at most 2000 characters'],
    ['https://10.0.0.1/logo.png', expect.stringContaining('10.0.0.1 is not a public address.')],
  ])('refuse a logo at %s', async (logoUrl, fault) => {
    await expect(settings.changeSettings(scope, { logoUrl })).rejects.toMatchObject({
      errors: { 'brand.logoUrl': fault },
    });
  });

  it('do not have the logo asked for again that stays', async () => {
    await settings.changeSettings(scope, { logoUrl: logoAt('/png') });
    const before = asked.length;
    await settings.changeSettings(scope, { logoUrl: logoAt('/png'), name: 'Acme' });
    await settings.changeSettings(scope, { name: 'Acme News' });
    expect(asked.length).toBe(before);
  });

  it('lead to no inner host that a name is pointed at', async () => {
    const guarded = new OutgoingHttp({
      addressesOf: () => Promise.resolve(['10.0.0.1']),
      allows: (address) => !address.startsWith('10.'),
    });
    const logoUrl = 'https://inside.example/logo.png';
    await expect(settingsBy(guarded).changeSettings(scope, { logoUrl })).rejects.toMatchObject({
      errors: { 'brand.logoUrl': expect.stringContaining('leads to no public address') },
    });
    await guarded.close();
  });

  describe('with a tracking host', () => {
    const wanted = async () =>
      (
        await test.query<{ host: string }>(
          `select payload->>'host' as host from platform.jobs where name = 'tracking_hosts.check'
           order by id`,
        )
      ).map(({ host: name }) => name);

    it('keep it as A-labels and have it looked at, each time that it is named', async () => {
      expect(await settings.changeSettings(scope, { trackingHost: ' Links.Bücher.example' })).toMatchObject({
        trackingHost: 'links.xn--bcher-kva.example',
      });
      await settings.changeSettings(scope, { name: 'Something else' });
      await settings.changeSettings(inTest, { trackingHost: 'links.xn--bcher-kva.example' });
      expect(await wanted()).toEqual(Array.from({ length: 2 }, () => 'links.xn--bcher-kva.example'));
      expect(await settings.changeSettings(scope, { trackingHost: null })).toMatchObject({
        trackingHost: null,
      });
      expect(await wanted()).toHaveLength(2);
    });

    it.each([
      ['https://links.acme.example', 'without scheme, port or path'],
      ['links.acme.example:8443', 'without scheme, port or path'],
      ['links.acme.example/mail', 'without scheme, port or path'],
      ['localhost', 'must be a host name'],
      ['192.0.2.1', 'must be a host name'],
      ['[2001:db8::1]', 'must be a host name'],
      ['', 'must be a host name'],
      ['MAIL.example', 'one of this installation'],
      ['links.mail.example', 'one of this installation'],
      ['acme.bounces.sender.example', 'one of this installation'],
    ])('refuse %j', async (trackingHost, fault) => {
      await expect(settings.changeSettings(scope, { trackingHost })).rejects.toMatchObject({
        errors: { trackingHost: expect.stringContaining(fault) },
      });
    });

    it('refuse that of another project, without telling whose, and write nothing', async () => {
      await settings.changeSettings(other, { trackingHost: 'links.taken.example' });
      const before = await new ProjectsQuery(database).ofScope(scope);
      const requests = await wanted();
      await expect(
        settings.changeSettings(scope, { name: 'Never written', trackingHost: 'links.taken.example' }),
      ).rejects.toMatchObject({ errors: { trackingHost: 'is the tracking host of another project' } });
      expect(await new ProjectsQuery(database).ofScope(scope)).toEqual(before);
      expect(await wanted()).toEqual(requests);
    });
  });
});
