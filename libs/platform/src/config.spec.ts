import { describe, expect, it } from '@jest/globals';
import { type ConfigurationError, loadConfig } from './config.js';

const DATABASE_URL = 'postgres://user:secret@127.0.0.1/mailwright';

function problemsOf(env: Readonly<Record<string, string>>): readonly string[] {
  try {
    loadConfig({ DATABASE_URL, ...env });
    return [];
  } catch (error) {
    return (error as ConfigurationError).problems;
  }
}

describe('The configuration', () => {
  it.each([
    ['192.0.2.1', ['192.0.2.1']],
    ['192.0.2.1:5353, [2001:db8::1]:53,2001:db8::1', ['192.0.2.1:5353', '[2001:db8::1]:53', '2001:db8::1']],
  ])('takes DNS servers as %s', (given, servers) => {
    expect(loadConfig({ DATABASE_URL, DNS_SERVERS: given }).DNS_SERVERS).toEqual(servers);
  });

  it.each([
    'localhost',
    'dns.example:53',
    '192.0.2.256',
    '192.0.2.1:',
    '192.0.2.1;192.0.2.2',
    '192.0.2.1:x',
    ',',
  ])('refuses DNS servers like %s', (given) => {
    expect(problemsOf({ DNS_SERVERS: given })).toEqual([
      expect.stringMatching(/^DNS_SERVERS must be a list/),
    ]);
  });

  it.each([
    ['false', false],
    ['true', true],
    ['10.0.0.0/8, 2001:db8::/32,192.0.2.1', ['10.0.0.0/8', '2001:db8::/32', '192.0.2.1']],
  ])('trusts the proxies %s', (given, trusted) => {
    expect(loadConfig({ DATABASE_URL, TRUST_PROXY: given }).TRUST_PROXY).toEqual(trusted);
  });

  it.each([
    ['BOUNCE_HOST', 'bounces'],
    ['BOUNCE_HOST', 'Bounces.example'],
    ['SPF_INCLUDE', 'include:spf.example'],
    ['RETURN_PATH_LABEL', 'bounce.mail'],
    ['RETURN_PATH_LABEL', '-bounce'],
    ['DEFAULT_FROM_EMAIL', 'nobody'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'Bearer x'],
    ['OTEL_EXPORTER_OTLP_HEADERS', 'x-key=50%'],
    ['DEFAULT_FROM_EMAIL', 'News <news@acme.example>'],
  ])('refuses %s=%s', (name, value) => {
    expect(problemsOf({ [name]: value })).toEqual([expect.stringMatching(new RegExp(`^${name} must be`))]);
  });

  it.each([
    ['PORT', '80.5', 'PORT must be an integer'],
    ['PORT', 'x', 'PORT must be a number'],
    ['PORT', '99999', 'PORT must be at most 65535'],
    ['SHUTDOWN_TIMEOUT_MS', '-1', 'SHUTDOWN_TIMEOUT_MS must be at least 100'],
    ['OTEL_EXPORTER_OTLP_PROTOCOL', 'grpc', 'OTEL_EXPORTER_OTLP_PROTOCOL must be one of http/json'],
    ['OTEL_TRACES_SAMPLER_ARG', '2', 'OTEL_TRACES_SAMPLER_ARG must be at most 1'],
    ['TRACKING', 'yes', 'TRACKING must be one of true, false'],
    [
      'TRUST_PROXY',
      '10.0.0.0/33',
      'TRUST_PROXY must be true, false, or IP addresses and networks such as 10.0.0.0/8, with commas between them',
    ],
    ['TOKEN_SECRET', 'short', 'TOKEN_SECRET needs at least 32 characters'],
    ['DATABASE_URL', '', 'DATABASE_URL is required'],
  ])('says of %s=%s what it may be', (name, value, problem) => {
    expect(problemsOf({ [name]: value })).toEqual([problem]);
  });

  it('refuses in production the hosts of a trial, which customers would publish to no effect', () => {
    const production = {
      NODE_ENV: 'production',
      TOKEN_SECRET: 'a secret of the tests, long enough for it',
      MASTER_KEY: 'another secret of the tests, long enough',
      PUBLIC_URL: 'https://mail.example',
    };
    const hosts = { BOUNCE_HOST: 'bounces.mail.example', SPF_INCLUDE: 'spf.mail.example' };
    expect(problemsOf({ ...production, ...hosts })).toEqual([]);
    expect(problemsOf(production)).toEqual([
      'BOUNCE_HOST is required when NODE_ENV=production',
      'SPF_INCLUDE is required when NODE_ENV=production',
    ]);
    expect(problemsOf({ ...production, ...hosts, SPF_INCLUDE: 'spf.mailwright.test' })).toEqual([
      'SPF_INCLUDE is below .test, which leads nowhere: refused when NODE_ENV=production',
    ]);
  });

  it('refuses a Node that lacks what the programs use, rather than let requests fail', () => {
    expect(() => loadConfig({ DATABASE_URL }, '20.20.2')).toThrow(
      'Node 24 or newer is needed, this is 20.20.2',
    );
    expect(() => loadConfig({ DATABASE_URL }, '24.0.0')).not.toThrow();
  });

  it('keeps the key of erased addresses through a change of the master key', () => {
    const [first, second] = ['the first master key of this test, long', 'the second master key of the test'];
    expect(loadConfig({ DATABASE_URL, MASTER_KEY: first }).ERASED_ADDRESS_KEY).toBe(first);
    const changed = { MASTER_KEY: second, MASTER_KEY_PREVIOUS: first };
    expect(problemsOf(changed)).toEqual([expect.stringMatching(/^ERASED_ADDRESS_KEY is required/)]);
    expect(loadConfig({ DATABASE_URL, ...changed, ERASED_ADDRESS_KEY: first }).ERASED_ADDRESS_KEY).toBe(
      first,
    );
  });
});
