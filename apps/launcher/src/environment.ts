import { runtimeUrl } from '#platform/embedded-postgres';
import type { Secrets } from './data-directory.js';

export type Environment = Readonly<Record<string, string | undefined>>;

/** The address of the api for programs on this machine. */
export function localUrl(env: Environment, port: number): string {
  const host = given(env, 'HOST') ?? '127.0.0.1';
  const local = ['127.0.0.1', '0.0.0.0', '::', '::1', 'localhost'].includes(host);
  return `http://${local ? 'localhost' : host.includes(':') ? `[${host}]` : host}:${port}`;
}

/** True when customers’ URLs may lead to this machine: while nobody else reaches the api, every customer is who started it. */
export function allowsPrivateAddresses(env: Environment): boolean {
  const host = given(env, 'HOST') ?? '127.0.0.1';
  return given(env, 'NODE_ENV') !== 'production' && ['127.0.0.1', '::1', 'localhost'].includes(host);
}

/**
 * The environment of the api, the worker and the CLI: the user's own with defaults, without the schema's owner. `--smtp`
 * needs no verified domain, except in production.
 */
export function programEnvironment(
  env: Environment,
  filled: { databaseUrl: string; port: number; secrets: Secrets; smtp: boolean },
): Record<string, string> {
  const production = given(env, 'NODE_ENV') === 'production';
  const defaults: Environment = {
    TOKEN_SECRET: filled.secrets.tokenSecret,
    MASTER_KEY: filled.secrets.masterKey,
    LOG_LEVEL: 'warn',
    ...(production ? {} : { PUBLIC_URL: localUrl(env, filled.port) }),
    ...(allowsPrivateAddresses(env) ? { OUTGOING_PRIVATE_ADDRESSES: 'true' } : {}),
    ...(filled.smtp ? { SMTP_URL: 'smtp://localhost:1025' } : {}),
    ...(filled.smtp && !production ? { REQUIRE_VERIFIED_DOMAIN: 'false' } : {}),
  };
  return Object.fromEntries(
    Object.entries({
      ...defaults,
      ...nonEmpty(env),
      DATABASE_OWNER_URL: undefined,
      DATABASE_URL: filled.databaseUrl,
      PORT: String(filled.port),
    }).filter((entry): entry is [string, string] => entry[1] !== undefined),
  );
}

/** The variable's value; an empty one counts as none. */
export function given(env: Environment, name: string): string | undefined {
  return env[name] === '' ? undefined : env[name];
}

function nonEmpty(env: Environment): Environment {
  return Object.fromEntries(Object.entries(env).filter(([, value]) => value !== undefined && value !== ''));
}

/** The URLs of one database: for the api and the worker, and for the owner of the schema, which only the CLI gets. */
export interface DatabaseUrls {
  readonly url: string;
  readonly ownerUrl: string;
}

/** The user's own database, if there is one. */
export function givenDatabase(env: Environment): DatabaseUrls | undefined {
  const url = given(env, 'DATABASE_URL');
  return url === undefined ? undefined : { url, ownerUrl: given(env, 'DATABASE_OWNER_URL') ?? url };
}

export function embeddedDatabase(superuserUrl: string): DatabaseUrls {
  return { url: runtimeUrl(superuserUrl), ownerUrl: superuserUrl };
}
