import { existsSync, readFileSync } from 'node:fs';
import { describe } from '@jest/globals';
import { executable } from '#testing/programs/executable';

/** Programs that nobody here wrote, and the executables that show that they are installed. */
const EXECUTABLES = {
  postfix: ['postfix', 'postconf', 'smtp-sink'],
  sasl: ['saslpasswd2'],
  exim: ['exim4'],
  opensmtpd: ['smtpd', 'smtpctl'],
  pgbouncer: ['pgbouncer'],
  postgresql: [
    'initdb',
    'postgres',
    'pg_basebackup',
    'pg_dump',
    'pg_restore',
    'createdb',
    'dropdb',
    'psql',
    'setpriv',
  ],
  redis: ['redis-server'],
  prometheus: ['prometheus', 'promtool'],
  spamassassin: ['spamassassin'],
  rspamd: ['rspamd', 'rspamc'],
  faketime: ['faketime'],
  chromium: ['chromium'],
  caddy: ['caddy'],
  python: ['python3'],
  s3: ['s3s-fs'],
  collector: ['otelcol'],
  laravel: ['php'],
  django: ['/usr/bin/python3'],
  rails: ['rails', 'rackup'],
} as const;

export type Part = keyof typeof EXECUTABLES;

/** Servers that are started by root, and the users for whom they give that up. */
const USERS: Partial<Record<Part, readonly string[]>> = {
  postfix: ['postfix'],
  exim: ['Debian-exim'],
  opensmtpd: ['opensmtpd', 'opensmtpq'],
  postgresql: ['postgres'],
};

/** Libraries of Debian's packages, beside the executables. */
const LIBRARIES: Partial<Record<Part, string>> = {
  laravel: '/usr/share/php/Illuminate/autoload.php',
  django: '/usr/lib/python3/dist-packages/django',
};

export const PARTS = Object.keys(EXECUTABLES) as readonly Part[];

/** The full path of an executable that a part brings. */
export function executableOf(part: Part, name?: string): string {
  const wanted = name ?? EXECUTABLES[part][0];
  const path = executable(wanted);
  if (path === undefined) throw new Error(`${wanted} of ${part} is not on the path`);
  return path;
}

export function missing(part: Part): readonly string[] {
  const executables = EXECUTABLES[part].filter((name) => executable(name) === undefined);
  const library = LIBRARIES[part];
  if (library !== undefined && !existsSync(library)) return [...executables, library];
  const wanted = USERS[part];
  if (wanted === undefined || executables.length > 0) return executables;
  const users = wanted.filter((name) => !readFileSync('/etc/passwd', 'utf8').includes(`${name}:`));
  return [...users.map((name) => `the user ${name}`), ...(process.getuid?.() === 0 ? [] : ['root'])];
}

/**
 * `describe`, where all of `parts` are installed. Where one is missing the suite is skipped, and its name says which
 * part would be needed, so that a run counts what it did not show.
 */
export function describeWith(parts: readonly Part[], name: string, body: () => void): void {
  const absent = parts.filter((part) => missing(part).length > 0);
  if (absent.length === 0) describe(name, body);
  else describe.skip(`${name} (not installed: ${absent.join(', ')})`, body);
}
