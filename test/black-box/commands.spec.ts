import { execFile, spawn } from 'node:child_process';
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { projectRoot } from '../../libs/platform/src/project-root.js';
import { ApiClient } from '#testing/http/api-client';
import { isOnCitus } from '#testing/postgres/database';
import { eventually } from '#testing/time/eventually';
import { type CliOutcome, runCli } from '#testing/programs/operator-cli';
import { type RunningSystem, startSystem } from '#testing/programs/system';

const PROJECT = ['--project', 'ACME/NEWS'];
const LIVE = [...PROJECT, '--env', 'live'];
const TEST = [...PROJECT, '--env', 'test'];

type Json = Readonly<Record<string, unknown>>;

describe('every command of the operator', () => {
  let system: RunningSystem;
  const ran = new Set<string>();

  beforeAll(async () => {
    system = await startSystem({ OUTGOING_PRIVATE_ADDRESSES: 'true' });
    await run('tenant:create', '--key', 'ACME', '--name', 'Acme Ltd');
    const project = ['--tenant', 'ACME', '--key', 'NEWS', '--name', 'News', '--sender-name', 'Acme'];
    await run('project:create', ...project, '--postal-address', '1 Main Street');
  });
  afterAll(() => system?.stop());

  function outcome(command: string, ...options: readonly string[]): Promise<CliOutcome> {
    ran.add(command);
    const environment = { ...system.variables, DATABASE_OWNER_URL: system.database.adminUrl };
    return runCli(environment, [command, ...options]);
  }

  async function run<T = Json>(command: string, ...options: readonly string[]): Promise<T> {
    const { exitCode, stdout, stderr } = await outcome(command, ...options, '--json');
    expect({ command, exitCode, stderr }).toEqual({ command, exitCode: 0, stderr: '' });
    return JSON.parse(stdout) as T;
  }

  async function client(environment: 'live' | 'test'): Promise<ApiClient> {
    const options = ['--name', 'Spec', '--scopes', 'all', '--rate-limit', '100000', '--expires-in-days', '1'];
    const { key } = await run('key:create', ...(environment === 'live' ? LIVE : TEST), ...options);
    return new ApiClient(system.baseUrl, String(key));
  }

  it('keeps tenants, projects and keys, which are listed with the ids that other commands take', async () => {
    const { tenantKey, planTier } = (await run<readonly Json[]>('tenant:list'))[0] ?? {};
    expect([tenantKey, planTier]).toEqual(['ACME', 'FREE']);
    const [project] = await run<readonly Json[]>('project:list', '--tenant', 'ACME');
    expect(project).toMatchObject({ tenantKey: 'ACME', projectKey: 'NEWS', name: 'News' });
    expect((await outcome('project:list')).stdout).toMatch(/^ID +PROJECT +NAME .*\n\d+ +ACME\/NEWS +News /);
    await run('project:set', ...PROJECT, '--reply-to', 'hello@acme.example', '--color', '#1a73e8');
    const privacy = ['--privacy-url', 'https://acme.example/privacy', '--contact', 'data@acme.example'];
    await run('project:set', ...PROJECT, ...privacy);
    expect(await run('project:retention', ...PROJECT, '--deliveries', '90')).toMatchObject({
      deliveriesDays: 90,
    });
    await client('test');
    const networks = ['--name', 'Office', '--scopes', 'topics:read', '--networks', '10.0.0.0/8,2001:db8::1'];
    const { id } = await run('key:create', ...TEST, ...networks);
    const rotated = await run('key:rotate', '--id', String(id), '--overlap-hours', '1');
    expect(rotated).toMatchObject({ replaces: id, key: expect.stringMatching(/^mw_test_/), overlapHours: 1 });
    const [key, before] = await run<readonly Json[]>('key:list', ...PROJECT);
    const allowedNetworks = ['10.0.0.0/8', '2001:db8::1/128'];
    expect(key).toMatchObject({ id: rotated['id'], status: 'ACTIVE', allowedNetworks });
    expect(before).toMatchObject({ id, status: 'REPLACED', replacedBy: rotated['id'] });
    const wrong = await outcome('key:create', ...TEST, ...networks.slice(0, -1), '10.1.0.0/8');
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('--networks has bits behind its prefix: write 10.0.0.0/8'),
    ]);
    expect((await outcome('key:rotate', '--id', String(id), '--overlap-hours', '169')).stderr).toContain(
      '--overlap-hours must be from 0 to 168',
    );
    expect(await run('key:revoke', '--id', String(key?.['id']))).toMatchObject({ id: key?.['id'] });
    expect((await outcome('key:revoke')).stderr).toContain("'--id <id>' not specified");
  });

  it('makes, lists and revokes a key of the operator’s API', async () => {
    const made = await run('operator-key:create', '--name', 'Ops', '--scopes', 'system:read,tenants:read');
    expect(made).toMatchObject({
      key: expect.stringMatching(/^mw_op_/),
      scopes: ['system:read', 'tenants:read'],
    });
    const wrong = await outcome('operator-key:create', '--name', 'Ops', '--scopes', 'tenants:reed');
    expect([wrong.exitCode, wrong.stderr]).toEqual([
      2,
      expect.stringContaining('Did you mean tenants:read?'),
    ]);
    expect(await run('operator-key:revoke', '--id', String(made['id']))).toMatchObject({ id: made['id'] });
    const keys = await run<readonly Json[]>('operator-key:list');
    expect(keys.find(({ id }) => id === made['id'])).toMatchObject({ name: 'Ops', status: 'REVOKED' });
  });

  it('shows the options of a command by help, and all commands by topic within 80 columns', async () => {
    expect((await outcome('help', 'key:revoke')).stdout).toContain('--id <id>');
    const { stdout } = await outcome('help');
    expect(stdout).toMatch(/\nBilling:\n  subscription:show [^]*\nChecks:\n  doctor /);
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
    const { version } = JSON.parse(readFileSync(join(projectRoot(), 'package.json'), 'utf8')) as Json;
    expect((await outcome('--version')).stdout).toBe(`${String(version)}\n`);
    ran.delete('--version');
  });

  it('completes commands, options and values in bash, where a colon ends a word', async () => {
    const { script } = await run('completion', 'bash');
    const completed = async (line: string) => {
      const words = `${String(script)}\nCOMP_LINE=$1 COMP_POINT=\${#1}; _mailwright; echo "\${COMPREPLY[*]}"`;
      return (await promisify(execFile)('bash', ['-c', words, 'bash', line])).stdout.trim();
    };
    expect(await completed('mailwright key:r')).toBe('revoke rotate');
    expect(await completed('mailwright sta')).toBe('start');
    expect(await completed('mailwright key:create --net')).toBe('--networks');
    expect(await completed('mailwright key:create --env ')).toBe('live test');
    expect(await completed('mailwright help doc')).toBe('doctor');
    expect(await run('completion', 'zsh')).toMatchObject({ script: expect.stringContaining('#') });
  });

  it('examines an installation', async () => {
    const { findings } = await run<{ findings: readonly Json[] }>('doctor');
    expect(findings.map(({ check, status }) => [check, status])).toEqual([
      ['settings', 'warning'],
      ['database', 'ok'],
      ['login', 'ok'],
      ['clock', 'ok'],
      ['secrets', 'ok'],
      ['redis', 'skipped'],
      ['relay', 'warning'],
      ['PUBLIC_URL', 'warning'],
      ['BOUNCE_HOST', 'skipped'],
      ['SPF_INCLUDE', 'skipped'],
    ]);
  });

  it('archives a campaign, links its report and compares counters with what they count', async () => {
    const api = await client('test');
    const topic = await api.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const [topicKey, topicId] = [String(topic.at('topicKey')), topic.at('id')];
    const consent = { source: 'form' };
    for (const name of ['ada', 'bob'])
      await api.post('/subscribers', { email: `${name}@example.com`, topicKeys: [topicKey], consent });
    const draft = { name: 'May', subject: 'May', contentText: 'Hello', topicIds: [topicId] };
    const campaign = String((await api.post('/campaigns', draft)).at('campaignKey'));
    expect(await outcome('campaign:archive', ...TEST, '--campaign', campaign)).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('DRAFT'),
    });
    await api.post(`/campaigns/${campaign}/send`);
    const status = async () => (await api.get(`/campaigns/${campaign}`)).at('status');
    await eventually('the campaign is sent', async () => (await status()) === 'SENT');
    expect(await run('campaign:archive', ...TEST, '--campaign', campaign)).toEqual({
      campaignKey: campaign,
      status: 'ARCHIVED',
    });
    expect(await status()).toBe('ARCHIVED');
    const { url } = await run('report:link', ...TEST, '--campaign', campaign);
    expect((await fetch(String(url))).status).toBe(200);
    for (const check of ['audit', 'counters', 'statistics', 'credits', 'automations', 'stripe'])
      expect((await outcome(`check:${check}`)).exitCode).toBe(0);
    const ada = [...TEST, '--email', 'ada@example.com'];
    expect(await run('subscriber:export', ...ada)).toMatchObject({
      subscriber: { email: 'ada@example.com' },
    });
    await run('subscriber:erase', ...ada, '--yes');
    expect((await api.get('/subscribers/ada@example.com')).status).toBe(404);
    const { templates } = await run<{ templates: readonly Json[] }>('automation:templates');
    const template = ['--template', String(templates[0]?.['template']), '--topic', topicKey];
    expect(await run('automation:install', ...TEST, ...template)).toHaveProperty('automationKey');
    expect(await run('automation:secret', ...TEST)).toMatchObject({
      secret: expect.stringMatching(/^whsec_/),
    });
  });

  it('lets a stopped project send again', async () => {
    expect((await outcome('project:resume-sending', ...PROJECT)).stderr).toContain('is not stopped');
    const [project] = await run<readonly Json[]>('project:list');
    await system.database.query(
      `insert into messaging.sending_stops (environment_id, reason, stopped_at) values ($1, 'too many bounces', now())`,
      [project?.['liveEnvironmentId']],
    );
    expect(await run('project:resume-sending', ...PROJECT)).toEqual({ resumed: true });
  });

  it('suspends, resumes and gives new keys to a sending domain', async () => {
    await (await client('live')).post('/sending-domain', { domainName: 'acme.example' });
    expect(await run('domain:show', ...LIVE)).toMatchObject({ domainName: 'acme.example' });
    await run('domain:suspend', ...LIVE, '--reason', 'Complaints');
    expect(await run('domain:show', ...LIVE)).toMatchObject({ status: 'SUSPENDED' });
    await run('domain:resume', ...LIVE);
    expect((await outcome('domain:rotate-key', ...LIVE)).stderr).toContain('Only a verified domain');
    await system.database.query(
      `update deliverability.sending_domains set status = 'ACTIVE', sending_allowed = true, verified_at = now()`,
    );
    await run('domain:rotate-key', ...LIVE);
    expect(await run('master-key:rotate')).toHaveProperty('encryptedAgain');
  });

  it('keeps a subscription, its invoices and credits', async () => {
    const tenant = ['--tenant', 'ACME'];
    await run('plan:list');
    await run('subscription:set', ...tenant, '--plan', 'standard', '--currency', 'eur');
    await run('subscription:set', ...tenant, '--plan', 'pro', '--credits', '5000');
    expect(await run('subscription:show', ...tenant)).toMatchObject({ planTier: 'PRO', openInvoices: 2 });
    const [second, first] = await run<readonly Json[]>('invoice:list', ...tenant);
    await run('invoice:pay', '--invoice', String(first?.['invoiceNumber']));
    await run('invoice:void', '--invoice', String(second?.['invoiceNumber']));
    const statuses = (await run<readonly Json[]>('invoice:list', ...tenant)).map(({ status }) => status);
    expect(statuses).toEqual(['VOID', 'PAID']);
    const granted = await run('credits:grant', ...tenant, '--credits', '100');
    const adjusted = ['--credits', '-20', '--description', 'Given by mistake'];
    expect(await run('credits:adjust', ...tenant, ...adjusted)).toMatchObject({
      balanceAfter: Number(granted['balanceAfter']) - 20,
    });
  });

  it('keeps the webhook endpoints of a project', async () => {
    const created = await run('webhook:create', ...TEST, '--url', 'http://127.0.0.1:9/hooks');
    const endpoint = [...TEST, '--id', String(created['id'])];
    await run('webhook:set', ...endpoint, '--status', 'disabled');
    expect(await run('webhook:list', ...TEST)).toMatchObject([{ status: 'DISABLED' }]);
    expect(await run('webhook:rotate-secret', ...endpoint)).toHaveProperty('secret');
    await run('webhook:set', ...endpoint, '--status', 'enabled', '--url', 'http://127.0.0.1:9/other');
    expect(await run('webhook:test', ...endpoint)).toMatchObject({ isAccepted: false, status: null });
    await (await client('test')).post('/topics', { name: 'Told' });
    expect(Array.isArray(await run('webhook:log', ...endpoint))).toBe(true);
    const since = ['--since', '2026-01-01T00:00:00Z', '--all'];
    expect(await run('webhook:replay', ...endpoint, ...since)).toHaveProperty('replayed');
    await run('webhook:delete', ...endpoint);
    expect(await run('webhook:list', ...TEST)).toEqual([]);
    const reader = await client('test');
    const ofAction = async (action: string) =>
      (await reader.get(`/audit-log?action=${action}`)).at<Json[]>('data');
    const entry = { actor: { type: 'OPERATOR', keyId: null, keyName: null, network: null }, requestId: null };
    const ofEndpoints = { ...entry, outcome: 'SUCCEEDED', target: { type: 'webhook-endpoint' } };
    expect(await ofAction('webhook:create')).toMatchObject([ofEndpoints]);
    expect(await ofAction('webhook:set')).toMatchObject([ofEndpoints, ofEndpoints]);
    expect(await ofAction('webhook:list')).toEqual([]);
    expect((await ofAction('key:create'))[0]).toMatchObject({ ...entry, target: { type: 'api-key' } });
  });

  it('brings the schema up to date and makes the demo project', async () => {
    await run('migrate');
    expect(await run('demo:seed')).toBeDefined();
    // Their success needs several servers, and is looked at in test/citus.
    for (const [command, options] of [
      ['distribute', []],
      ['isolate', LIVE],
    ] as const) {
      const { exitCode, stderr } = await outcome(command, ...options);
      expect([exitCode, stderr]).toEqual(isOnCitus ? [0, ''] : [1, expect.stringContaining('Citus')]);
    }
  });

  it('may be read in part: a closed pipe is no fault', async () => {
    const program = spawn(process.execPath, [join(projectRoot(), 'dist/apps/cli/src/main.js'), 'help']);
    program.stdout.destroy();
    const [complaints] = await Promise.all([text(program.stderr), once(program, 'exit')]);
    expect([complaints, program.exitCode]).toEqual(['', 0]);
  });

  it('ran above', async () => {
    const { stdout } = await outcome('help');
    const known = [...stdout.matchAll(/^ {2}([a-z][a-z:-]+) \[/gm)].map(([, name]) => name);
    expect(known.length).toBeGreaterThan(40);
    expect(ran).toEqual(new Set(known));
  });
});
