import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import type { RecordToPublish } from '#testing/mail/published-records';
import { sharedDns } from '#testing/programs/shared-system-client';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

interface ShownRecord extends RecordToPublish {
  readonly status: string;
  readonly failureReason: string | null;
  readonly actualValue: string | null;
}

describe('the sending domain', () => {
  let system: SharedSystem;
  let project: SystemProject;
  let client: ApiClient;

  beforeAll(async () => {
    system = await sharedSystem();
    project = await system.project();
    client = await project.client('LIVE');
  });
  afterAll(() => system?.stop());

  const recordsOf = (answer: ApiAnswer, name = 'dnsRecords') => answer.at<ShownRecord[]>(name);
  const cli = (...args: string[]) =>
    runCliForJson(system.variables, [...args, '--project', project.name, '--env', 'live']);

  const setStatus = (campaignId: string, status: string) =>
    system.database.query(`update messaging.campaigns set status = $1 where id = $2`, [status, campaignId]);

  it('is not there at first', async () => {
    for (const answer of [
      await client.get('/sending-domain'),
      await client.get('/sending-domain/dns-instructions'),
      await client.post('/sending-domain/verify-dns'),
      await client.patch('/sending-domain', { domainName: 'news.acme.example' }),
      await client.delete('/sending-domain'),
    ])
      expect(answer.status).toBe(404);
  });

  it('is refused when its name is missing, or none that one can register', async () => {
    for (const [body, status, fault] of [
      [{}, 400, 'is required'],
      [{ domainName: 7 }, 400, expect.any(String)],
      [{ domainName: '' }, 400, 'must not be empty'],
      [{ domainName: 'localhost' }, 422, expect.any(String)],
      [{ domainName: '192.0.2.1' }, 422, expect.any(String)],
      [{ domainName: 'co.uk' }, 422, expect.any(String)],
      [{ domainName: 'acme.zzzzqq' }, 422, 'is not a domain that one can register, or one below it'],
    ] as const) {
      const answer = await client.post('/sending-domain', body);
      expect([answer.status, answer.at('errors', 'domainName')]).toEqual([status, fault]);
    }
  });

  it('is set up once, however many ask at a time, and says what to publish', async () => {
    const answers = await Promise.all(
      [1, 2].map(() => client.post('/sending-domain', { domainName: 'News.Acme.example' })),
    );
    expect(answers.map(({ status }) => status).sort((one, other) => one - other)).toEqual([201, 409]);
    const created = answers.find(({ status }) => status === 201)!;
    expect(created.headers.get('location')).toBe('/api/v1/sending-domain');
    expect(answers.find(({ status }) => status === 409)?.at('type')).toMatch(/\/problems\/already-exists$/);
    expect(created.body).toMatchObject({
      id: expect.any(Number),
      domainName: 'news.acme.example',
      domainType: 'CUSTOM',
      status: 'PENDING_VERIFICATION',
      healthScore: null,
      projectId: project.live.projectId,
      verifiedAt: null,
      sendingAllowed: false,
      verificationAttempts: 0,
    });
    expect((await client.get('/sending-domain')).body).toEqual(created.body);
    const instructions = await client.get('/sending-domain/dns-instructions');
    expect(recordsOf(instructions, 'requiredRecords')).toEqual(recordsOf(created));
    expect(instructions.at('instructionsText')).toContain('Value: 10 bounces.sender.example');
    expect(instructions.at('instructionsText')).toContain('include:spf.sender.example');
  });

  it('is looked at when asked, and tells what is missing and what is wrong', async () => {
    const [ownership] = recordsOf(await client.get('/sending-domain'));
    await sharedDns.txt(ownership?.host ?? '', 'something else');
    const answer = await client.post('/sending-domain/verify-dns');
    expect(answer.status).toBe(200);
    expect(answer.body).toMatchObject({
      domainId: expect.any(Number),
      resultingStatus: 'PENDING_VERIFICATION',
      healthScore: 0,
      allVerified: false,
    });
    const [first, ...others] = recordsOf(answer, 'records');
    expect(first).toMatchObject({ status: 'FAILED', actualValue: 'something else' });
    expect(first?.failureReason).toMatch(/^MISMATCH: /);
    for (const { status, failureReason, actualValue } of others) {
      expect([status, actualValue]).toEqual(['FAILED', null]);
      expect(failureReason).toMatch(/^MISSING: /);
    }
  });

  it('is verified when its records are published', async () => {
    await sharedDns.publish(recordsOf(await client.get('/sending-domain')));
    const answer = await client.post('/sending-domain/verify-dns');
    expect(answer.body).toMatchObject({ resultingStatus: 'ACTIVE', healthScore: 100, allVerified: true });
    const domain = await client.get('/sending-domain');
    expect(domain.body).toMatchObject({ status: 'ACTIVE', sendingAllowed: true, verificationAttempts: 2 });
    expect(domain.at('verifiedAt')).toBe(domain.at('lastHealthCheckAt'));
    expect(recordsOf(domain).map(({ status }) => status)).toEqual(Array(5).fill('VERIFIED'));
  });

  it('stays verified while the name servers fail', async () => {
    const hosts = recordsOf(await client.get('/sending-domain')).map(({ host }) => host ?? '');
    for (const host of hosts) await sharedDns.fail('SERVFAIL', host);
    for (let time = 0; time < 10; time += 1) {
      const answer = await client.post('/sending-domain/verify-dns');
      expect(answer.at('resultingStatus')).toBe('ACTIVE');
      expect(recordsOf(answer, 'records')[0]?.failureReason).toMatch(/^DNS_ERROR: /);
    }
    for (const host of hosts) await sharedDns.fail(null, host);
  });

  it('is another one in the test environment, and another tenant cannot have it', async () => {
    const testing = await project.client('TEST');
    expect((await testing.get('/sending-domain')).status).toBe(404);
    const mine = await testing.post('/sending-domain', { domainName: 'news.acme.example' });
    expect(mine.status).toBe(201);
    const stranger = await (await system.project('BETA')).client('LIVE');
    const refused = await stranger.post('/sending-domain', { domainName: 'NEWS.acme.example' });
    expect([refused.status, refused.at('type')]).toEqual([409, expect.stringMatching(/\/already-exists$/)]);
    expect((await testing.delete('/sending-domain')).status).toBe(204);
  });

  it('changes its key by the operator’s hand without a gap', async () => {
    const rotated = await cli('domain:rotate-key');
    const waiting = rotated['records'] as { host: string; value: string }[];
    expect(waiting).toHaveLength(1);
    expect((await cli('domain:show'))['status']).toBe('ACTIVE');
    expect((await client.post('/sending-domain/verify-dns')).body).toMatchObject({
      resultingStatus: 'ACTIVE',
      allVerified: false,
    });
    await sharedDns.txt(waiting[0]?.host ?? '', waiting[0]?.value ?? '');
    const switched = await client.post('/sending-domain/verify-dns');
    expect(switched.body).toMatchObject({ resultingStatus: 'ACTIVE', allVerified: true });
    expect(recordsOf(switched, 'records').map(({ host }) => host)).toContain(waiting[0]?.host);
  });

  it('is shown to the operator with what was seen of its records', async () => {
    const shown = await runCli(system.variables, ['domain:show', '--project', project.name, '--env', 'live']);
    expect(shown.stdout).toMatch(/^Domain +news\.acme\.example$/m);
    expect(shown.stdout).toMatch(/^Score +100$/m);
    expect(shown.stdout).toMatch(/^dmarc +TXT +_dmarc\.news\.acme\.example +verified +p=none asks/m);
    const none = await runCli(system.variables, ['domain:show', '--project', project.name, '--env', 'test']);
    expect([none.exitCode, none.stderr.trim()]).toEqual([1, 'This environment has no sending domain.']);
  });

  it('is suspended and resumed by the operator', async () => {
    await cli('domain:suspend', '--reason', 'Too many complaints.');
    expect((await client.get('/sending-domain')).body).toMatchObject({
      status: 'SUSPENDED',
      sendingAllowed: false,
      suspensionReason: 'Too many complaints.',
    });
    const refused = await client.delete('/sending-domain');
    expect([refused.status, refused.at('currentState')]).toEqual([409, 'SUSPENDED']);
    await cli('domain:resume');
    expect((await client.get('/sending-domain')).body).toMatchObject({
      status: 'ACTIVE',
      suspensionReason: null,
    });
  });

  it('begins anew with another name', async () => {
    const answer = await client.patch('/sending-domain', { domainName: 'mail.acme.example' });
    expect([answer.status, answer.at('status'), answer.at('sendingAllowed')]).toEqual([
      200,
      'PENDING_VERIFICATION',
      false,
    ]);
    expect(recordsOf(answer).every(({ host }) => host?.endsWith('.mail.acme.example'))).toBe(true);
  });

  it('cannot be removed while a campaign is on its way', async () => {
    const campaign = await client.post('/campaigns', { name: 'Going out', subject: 'News' });
    await setStatus(campaign.at('id'), 'PAUSED');
    const refused = await client.delete('/sending-domain');
    expect([refused.status, refused.at('type')]).toEqual([409, expect.stringMatching(/\/in-use$/)]);
    await setStatus(campaign.at('id'), 'CANCELLED');
    expect((await client.delete('/sending-domain')).status).toBe(204);
    expect((await client.get('/sending-domain')).status).toBe(404);
  });
});
