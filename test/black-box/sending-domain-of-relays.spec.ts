import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { runCli } from '#testing/programs/operator-cli';
import type { RecordToPublish } from '#testing/mail/published-records';
import { sharedDns } from '#testing/programs/shared-system-client';
import { type SharedSystem, sharedSystem, type SystemProject } from '#testing/programs/system';

interface ShownRecord extends RecordToPublish {
  readonly status: string;
  readonly failureReason: string | null;
}

describe('the sending domain of a project with relays', () => {
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
  const hostsOf = (answer: ApiAnswer, name?: string) =>
    recordsOf(answer, name).map(({ recordType, host }) => `${recordType} ${host?.replace(/^mw\w+/, 'mw')}`);
  const addRelay = async (kind: string, more: object = {}) => {
    const answer = await client.post('/relays', { name: kind, kind, host: '127.0.0.1', port: 587, ...more });
    expect(answer.status).toBe(201);
    return answer.at('relayKey');
  };
  const verify = () => client.post('/sending-domain/verify-dns');

  const OF_SES = [
    'TXT _mailwright.relayed.example',
    'TXT mw._domainkey.relayed.example',
    'TXT _dmarc.relayed.example',
  ];
  let relayKey: string;

  it('waits for every record while the installation’s relay takes its mail', async () => {
    const created = await client.post('/sending-domain', { domainName: 'relayed.example' });
    expect(recordsOf(created)).toHaveLength(5);
    await sharedDns.publish(recordsOf(created).filter(({ host }) => host !== 'bounce.relayed.example'));
    expect((await verify()).body).toMatchObject({
      resultingStatus: 'PENDING_VERIFICATION',
      allVerified: false,
    });
  });

  it('asks for those that its only relay needs, and is ACTIVE without SPF and MX', async () => {
    relayKey = await addRelay('SES');
    expect(hostsOf(await client.get('/sending-domain'))).toEqual(OF_SES);
    const instructions = await client.get('/sending-domain/dns-instructions');
    expect(hostsOf(instructions, 'requiredRecords')).toEqual(OF_SES);
    expect(instructions.at('instructionsText')).toContain('add these 3 records');
    expect(instructions.at('instructionsText')).not.toContain('bounce.relayed.example');
    const answer = await verify();
    expect(answer.body).toMatchObject({ resultingStatus: 'ACTIVE', healthScore: 100, allVerified: true });
    expect(hostsOf(answer, 'records')).toEqual(OF_SES);
    expect((await client.get('/sending-domain')).body).toMatchObject({
      status: 'ACTIVE',
      sendingAllowed: true,
    });
  });

  it('is shown to the operator with those alone', async () => {
    const shown = await runCli(system.variables, ['domain:show', '--project', project.name, '--env', 'live']);
    expect(shown.stdout).toMatch(/^Score +100$/m);
    expect(shown.stdout).not.toMatch(/^(spf|mx) /m);
  });

  it('asks for all of them again while a stream goes by the installation’s relay', async () => {
    await client.patch(`/relays/${relayKey}`, { streams: ['CAMPAIGN', 'AUTOMATION'] });
    expect(recordsOf(await client.get('/sending-domain'))).toHaveLength(5);
    const other = await addRelay('POSTMARK', { streams: ['OPT_IN', 'TRANSACTIONAL', 'TEST'] });
    await client.patch(`/relays/${other}`, { status: 'PAUSED' });
    expect(hostsOf(await client.get('/sending-domain'))).toEqual(OF_SES);
    expect((await client.delete(`/relays/${other}`)).status).toBe(204);
  });

  it('asks for SPF and MX when the relay is deleted, and goes on sending while they are missing', async () => {
    expect((await client.delete(`/relays/${relayKey}`)).status).toBe(204);
    const domain = await client.get('/sending-domain');
    expect(domain.at('status')).toBe('ACTIVE');
    expect(recordsOf(domain).map(({ status }) => status)).toEqual([
      'VERIFIED',
      'VERIFIED',
      'PENDING',
      'PENDING',
      'VERIFIED',
    ]);
    const answer = await verify();
    expect(answer.body).toMatchObject({ resultingStatus: 'ACTIVE', allVerified: false });
    const missing = recordsOf(answer, 'records').filter(({ status }) => status === 'FAILED');
    expect(missing.map(({ host, failureReason }) => `${host} ${failureReason}`)).toEqual(
      Array(2).fill('bounce.relayed.example MISSING: the name does not exist'),
    );
    expect((await client.get('/sending-domain')).at('sendingAllowed')).toBe(true);
    await sharedDns.publish(recordsOf(answer, 'records'));
    expect((await verify()).body).toMatchObject({
      resultingStatus: 'ACTIVE',
      healthScore: 100,
      allVerified: true,
    });
  });

  it('keeps its relays’ records apart from those of the test environment', async () => {
    await addRelay('POSTMARK');
    const testing = await project.client('TEST');
    const created = await testing.post('/sending-domain', { domainName: 'relayed.example' });
    expect(recordsOf(created)).toHaveLength(5);
    expect(recordsOf(await client.get('/sending-domain'))).toHaveLength(2);
  });
});
