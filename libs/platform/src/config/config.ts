import { createHmac } from 'node:crypto';
import { z } from 'zod';
import { type EnvironmentVariables, environmentVariables } from './environment-variables.js';

/** The configuration of a process, checked once at its start. */
export interface Config extends EnvironmentVariables {
  readonly LOG_FORMAT: 'json' | 'pretty';
  readonly PUBLIC_URL: string;
  readonly TOKEN_SECRET: string;
  readonly MASTER_KEY: string;
  readonly ERASED_ADDRESS_KEY: string;
}

/** All that is wrong with the environment, one line each. */
export class ConfigurationError extends Error {
  constructor(readonly problems: readonly string[]) {
    super(`The configuration is not valid:\n${problems.map((problem) => `  - ${problem}`).join('\n')}`);
  }
}

/** Hosts that customers publish in their DNS: with the defaults mail could neither be proved nor come back (RFC 6761 §6.2). */
const PUBLISHED_HOSTS = ['BOUNCE_HOST', 'SPF_INCLUDE'] as const;

/** Older ones start, and fail where they lack something: what `npm ci` brings is new enough. */
const OLDEST_NODE = 24;

/** Reads the configuration, or throws a `ConfigurationError` that lists every problem. */
export function loadConfig(
  env: Readonly<Record<string, string | undefined>>,
  nodeVersion = process.versions.node,
): Config {
  const given = Object.fromEntries(
    Object.entries(env).filter(([, value]) => value !== undefined && value !== ''),
  );
  const parsed = environmentVariables.safeParse(given);
  const problems = parsed.success
    ? []
    : parsed.error.issues.map((issue) => `${issue.path.join('.')} ${describe(issue, given)}`);
  if (Number.parseInt(nodeVersion, 10) < OLDEST_NODE)
    problems.push(
      `Node ${OLDEST_NODE} or newer is needed, this is ${nodeVersion}: node_modules/.bin/node is one`,
    );
  if ((given['BOUNCE_TLS_CERT_FILE'] === undefined) !== (given['BOUNCE_TLS_KEY_FILE'] === undefined)) {
    problems.push('BOUNCE_TLS_CERT_FILE and BOUNCE_TLS_KEY_FILE go together');
  }
  problems.push(...masterKeyProblems(given));
  if (given['AI_BASE_URL'] !== undefined && given['AI_MODEL'] === undefined)
    problems.push('AI_MODEL is required with AI_BASE_URL');
  if ((given['STRIPE_SECRET_KEY'] === undefined) !== (given['STRIPE_WEBHOOK_SECRET'] === undefined)) {
    problems.push('STRIPE_SECRET_KEY and STRIPE_WEBHOOK_SECRET are needed together');
  }
  if (given['NODE_ENV'] === 'production') problems.push(...productionProblems(given));
  if (!parsed.success || problems.length > 0) throw new ConfigurationError(problems);
  return complete(parsed.data);
}

function describe(issue: z.core.$ZodIssue, given: Readonly<Record<string, string | undefined>>): string {
  if (issue.code === 'invalid_type') {
    const missing = given[issue.path.join('.')] === undefined;
    return missing ? 'is required' : issue.expected === 'int' ? 'must be an integer' : 'must be a number';
  }
  if (issue.code === 'invalid_value') return `must be one of ${issue.values.map(String).join(', ')}`;
  if (issue.code === 'too_small' && issue.origin !== 'string') return `must be at least ${issue.minimum}`;
  if (issue.code === 'too_big' && issue.origin !== 'string') return `must be at most ${issue.maximum}`;
  return lowerFirst(issue.message);
}

/** Hashes of erased addresses cannot be made anew: they keep the key that they were made with. */
function masterKeyProblems(given: Readonly<Record<string, string | undefined>>): string[] {
  if (given['MASTER_KEY_PREVIOUS'] === undefined || given['ERASED_ADDRESS_KEY'] !== undefined) return [];
  return ['ERASED_ADDRESS_KEY is required with MASTER_KEY_PREVIOUS: set it to the key before, and keep it'];
}

function productionProblems(given: Readonly<Record<string, string | undefined>>): string[] {
  const problems: string[] = [];
  for (const name of ['TOKEN_SECRET', 'MASTER_KEY', 'PUBLIC_URL', ...PUBLISHED_HOSTS]) {
    if (given[name] === undefined) problems.push(`${name} is required when NODE_ENV=production`);
  }
  for (const name of PUBLISHED_HOSTS.filter((host) => given[host]?.endsWith('.test'))) {
    problems.push(`${name} is below .test, which leads nowhere: refused when NODE_ENV=production`);
  }
  if (given['REQUIRE_VERIFIED_DOMAIN'] === 'false') {
    problems.push('REQUIRE_VERIFIED_DOMAIN=false is refused when NODE_ENV=production');
  }
  return problems;
}

function complete(values: EnvironmentVariables): Config {
  const MASTER_KEY = values.MASTER_KEY ?? developmentSecret('MASTER_KEY', values.DATABASE_URL);
  return {
    ...values,
    LOG_FORMAT: values.LOG_FORMAT ?? (values.NODE_ENV === 'production' ? 'json' : 'pretty'),
    PUBLIC_URL: (values.PUBLIC_URL ?? `http://localhost:${values.PORT}`).replace(/\/+$/, ''),
    TOKEN_SECRET: values.TOKEN_SECRET ?? developmentSecret('TOKEN_SECRET', values.DATABASE_URL),
    MASTER_KEY,
    ERASED_ADDRESS_KEY: values.ERASED_ADDRESS_KEY ?? MASTER_KEY,
  };
}

/** Outside production: the same secret for every process on the same database. */
function developmentSecret(name: string, databaseUrl: string): string {
  const database = new URL(databaseUrl);
  return createHmac('sha256', name).update(`${database.password}/${database.pathname}`).digest('base64url');
}

function lowerFirst(text: string): string {
  return text.charAt(0).toLowerCase() + text.slice(1);
}
