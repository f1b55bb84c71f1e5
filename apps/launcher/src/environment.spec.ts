import { describe, expect, it } from '@jest/globals';
import { type Environment, localUrl, programEnvironment } from './environment.js';

const secrets = { tokenSecret: 't'.repeat(43), masterKey: 'm'.repeat(43) };
const fill = (env: Environment, smtp = false) =>
  programEnvironment(env, { databaseUrl: 'postgres://db/mailwright', port: 3100, secrets, smtp });

describe('the environment of the programs', () => {
  it('fills in what the user leaves open, and tells nobody the login of the schema’s owner', () => {
    const owner = 'postgres://owner@db/mailwright';
    expect(fill({ PATH: '/bin', TOKEN_SECRET: '', DATABASE_OWNER_URL: owner })).toEqual({
      PATH: '/bin',
      DATABASE_URL: 'postgres://db/mailwright',
      PORT: '3100',
      PUBLIC_URL: 'http://localhost:3100',
      TOKEN_SECRET: secrets.tokenSecret,
      MASTER_KEY: secrets.masterKey,
      LOG_LEVEL: 'warn',
      OUTGOING_PRIVATE_ADDRESSES: 'true',
    });
  });

  it('lets webhooks lead to programs on this machine while nobody else reaches the api', () => {
    const name = 'OUTGOING_PRIVATE_ADDRESSES';
    expect(fill({ HOST: '127.0.0.1' })).toHaveProperty(name, 'true');
    for (const env of [{ HOST: '0.0.0.0' }, { HOST: '192.0.2.7' }, { NODE_ENV: 'production' }])
      expect(fill(env)).not.toHaveProperty(name);
    expect(fill({ [name]: 'false' })).toHaveProperty(name, 'false');
  });

  it('leaves what the user chose', () => {
    const chosen = {
      PUBLIC_URL: 'https://mail.example.com',
      TOKEN_SECRET: 'x'.repeat(40),
      MASTER_KEY: 'y'.repeat(40),
      LOG_LEVEL: 'debug',
      REDIS_URL: 'redis://redis',
      SMTP_URL: 'smtp://relay',
      REQUIRE_VERIFIED_DOMAIN: 'true',
    };
    expect(fill(chosen, true)).toMatchObject(chosen);
  });

  it('sends live mail to port 1025 without a verified domain with --smtp, and only then', () => {
    expect(fill({}, true)).toMatchObject({
      SMTP_URL: 'smtp://localhost:1025',
      REQUIRE_VERIFIED_DOMAIN: 'false',
    });
    expect(fill({})).not.toHaveProperty('SMTP_URL');
    expect(fill({})).not.toHaveProperty('REQUIRE_VERIFIED_DOMAIN');
  });

  it('gives up neither the verified domain nor a real address in production', () => {
    const production = fill({ NODE_ENV: 'production' }, true);
    expect(production).not.toHaveProperty('REQUIRE_VERIFIED_DOMAIN');
    expect(production).not.toHaveProperty('PUBLIC_URL');
  });

  it.each([
    [undefined, 'http://localhost:3100'],
    ['0.0.0.0', 'http://localhost:3100'],
    ['192.0.2.7', 'http://192.0.2.7:3100'],
    ['2001:db8::7', 'http://[2001:db8::7]:3100'],
  ])('reaches an api that listens on %s at %s', (host, url) => {
    expect(localUrl({ HOST: host }, 3100)).toBe(url);
  });
});
