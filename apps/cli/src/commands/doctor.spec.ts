import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { Redis } from 'ioredis';
import { eventually } from '#testing/time/eventually';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { type DnsServer, startDnsServer } from '#testing/mail/dns-server';
import { createProject } from '#testing/fixtures/fixtures';
import { ed25519Key } from '#testing/mail/dkim-keys';
import { insertSendingDomain } from '#testing/fixtures/sending-domain';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';
import { SECRETS } from '#testing/programs/system';
import { startRedis, type TestRedis } from '#testing/programs/redis';
import { TraceCollector } from '#testing/servers/trace-collector';
import type { SmtpSink } from '#testing/mail/sink-rules';
import { startSmtpSink } from '#testing/mail/smtp-sink';

interface Finding {
  readonly check: string;
  readonly status: string;
  readonly found: string;
  readonly remedy?: string;
}

describe('doctor', () => {
  let test: TestDatabase;
  let dns: DnsServer;
  let redis: TestRedis;
  let relay: SmtpSink;

  beforeAll(async () => {
    [test, dns, redis, relay] = await Promise.all([
      createTestDatabase(),
      startDnsServer(),
      startRedis(),
      startSmtpSink(),
    ]);
    dns.a('mail.acme.example', '192.0.2.1');
    dns.a('bounces.acme.example', '192.0.2.2');
    dns.txt('spf.acme.example', 'v=spf1 ip4:192.0.2.3 -all');
  });

  afterAll(async () => {
    await Promise.all([test?.drop(), dns?.stop(), redis?.stop(), relay?.stop()]);
  });

  const production = () => ({
    NODE_ENV: 'production',
    DATABASE_URL: test.url,
    REDIS_URL: redis.url,
    SMTP_URL: `smtp://127.0.0.1:${relay.port}`,
    PUBLIC_URL: 'https://mail.acme.example',
    BOUNCE_HOST: 'bounces.acme.example',
    SPF_INCLUDE: 'spf.acme.example',
    DNS_SERVERS: dns.address,
    TOKEN_SECRET: 't'.repeat(64),
    MASTER_KEY: SECRETS.MASTER_KEY,
  });

  async function examine(environment: Readonly<Record<string, string>>) {
    const { exitCode, stdout, stderr } = await runCli(environment, ['doctor', '--json']);
    const { findings } = JSON.parse(stdout) as { readonly findings: readonly Finding[] };
    return { exitCode, stderr, findings: new Map(findings.map((finding) => [finding.check, finding])) };
  }

  it('finds nothing to do where all is well, and has sent nothing', async () => {
    const { exitCode, findings } = await examine(production());
    const statuses = [...findings.values()].map(({ check, status }) => [check, status]);
    expect(exitCode).toBe(0);
    expect(Object.fromEntries(statuses)).toMatchObject({
      settings: 'ok',
      database: 'ok',
      clock: 'ok',
      PUBLIC_URL: 'ok',
      BOUNCE_HOST: 'ok',
      SPF_INCLUDE: 'ok',
    });
    expect(relay.messages).toEqual([]);
  });

  it('says of a Redis that keeps its policy to itself what to look at', async () => {
    const admin = new Redis(redis.url);
    await admin.acl('SETUSER', 'app', 'on', '>secret', '~*', '+@all', '-info');
    admin.disconnect();
    const { exitCode, findings } = await examine({
      ...production(),
      REDIS_URL: `redis://app:secret@127.0.0.1:${redis.port}`,
    });
    expect(exitCode).toBe(0);
    expect(findings.get('redis')).toMatchObject({
      status: 'warning',
      remedy: expect.stringContaining('noeviction'),
    });
  });

  it('asks the collector of traces, which nothing waits for', async () => {
    const collector = await TraceCollector.open();
    const environment = { ...production(), OTEL_EXPORTER_OTLP_ENDPOINT: collector.url };
    expect((await examine(environment)).findings.get('traces')).toMatchObject({ status: 'ok' });
    collector.status = 401;
    const { exitCode, findings } = await examine(environment);
    const { url } = collector;
    collector.close();
    expect(exitCode).toBe(0);
    expect(findings.get('traces')).toMatchObject({
      status: 'warning',
      found: `${url} does not take traces: Unauthorized`,
      remedy: expect.stringContaining('OTEL_EXPORTER_OTLP_HEADERS'),
    });
    expect(collector.spans).toEqual([]);
  });

  it('says of each thing that fails what it is and what to do, and ends with 1', async () => {
    dns.remove('bounces.acme.example');
    const broken = { ...production(), SMTP_URL: 'smtp://127.0.0.1:1', SPF_INCLUDE: 'mail.acme.example' };
    const { exitCode, stderr, findings } = await examine(broken);
    expect(exitCode).toBe(1);
    expect(JSON.parse(stderr)).toEqual({ error: { code: 'checks-failed', message: '3 checks failed.' } });
    expect(findings.get('relay')).toMatchObject({
      status: 'failed',
      found: expect.stringContaining('127.0.0.1:1 cannot be used (connect)'),
      remedy: expect.stringContaining('firewall'),
    });
    expect(findings.get('BOUNCE_HOST')).toMatchObject({
      status: 'failed',
      remedy: expect.stringContaining('A or AAAA record'),
    });
    expect(findings.get('SPF_INCLUDE')).toMatchObject({ found: 'mail.acme.example has no SPF record.' });
  });

  it('says that MASTER_KEY is not the one that secrets were stored with, of each kind', async () => {
    const { name, live } = await createProject(test);
    await insertSendingDomain(test, live, { domainName: 'news.acme.example', keys: [ed25519Key('one')] });
    const inProject = ['--project', name, '--env', 'live'];
    const own = { ...production(), OUTGOING_PRIVATE_ADDRESSES: 'true' };
    await runCliForJson(own, ['webhook:create', ...inProject, '--url', 'https://127.0.0.1/hook']);
    await runCliForJson(production(), ['automation:secret', ...inProject]);
    expect((await examine(production())).findings.get('secrets')).toMatchObject({ status: 'ok' });
    const another = { ...production(), MASTER_KEY: 'another master key than that before' };
    for (const [kind, table] of [
      ['a DKIM key', 'deliverability.dkim_keys'],
      ['a secret of a webhook', 'webhooks.endpoints'],
      ['a secret of automations', 'messaging.automation_secrets'],
    ]) {
      const { exitCode, findings } = await examine(another);
      expect(exitCode).toBe(1);
      expect(findings.get('secrets')).toMatchObject({
        status: 'failed',
        found: expect.stringContaining(
          `MASTER_KEY does not open ${kind}: The secret was sealed with another`,
        ),
        remedy: expect.stringContaining('MASTER_KEY_PREVIOUS'),
      });
      await test.query(`delete from ${table}`);
    }
    expect((await examine(another)).findings.get('secrets')).toMatchObject({ status: 'ok' });
  });

  it('says why the read replica is not read', async () => {
    const wrong = Object.assign(new URL(test.url), { username: 'nobody' }).href;
    await eventually('PostgreSQL refuses it in time', async () => {
      const { findings } = await examine({ ...production(), DATABASE_READ_URL: wrong });
      const { status, found } = findings.get('replica')!;
      expect(status).toBe('warning');
      return (
        found ===
        'PostgreSQL refuses the user and password of DATABASE_READ_URL. The primary answers all reads meanwhile.'
      );
    });
  });

  it('names all settings that are wrong, and fits 80 columns', async () => {
    const { exitCode, stdout } = await runCli({ NODE_ENV: 'production', LOG_LEVEL: 'loud' }, ['doctor']);
    expect(exitCode).toBe(1);
    expect(stdout).toMatch(/^FAILED +settings +DATABASE_URL is required/);
    expect(stdout).toContain('LOG_LEVEL');
    expect(stdout.split('\n').filter((line) => line.length > 80)).toEqual([]);
  });
});
