import { readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { z } from 'zod';

const ports = z.object({
  postgres: z.number(),
  publicUrl: z.string().optional(),
  privateAddresses: z.boolean().optional(),
});
const secrets = z.object({ tokenSecret: z.string(), masterKey: z.string() });

type Variables = Readonly<Record<string, string | undefined>>;

/**
 * `env`, completed when it names no database by the database of `npm start` in `directory` (its `.data`) and the secrets
 * of its programs: with other secrets links would not work and encrypted values could not be read.
 */
export async function withLocalInstallation(env: Variables, directory: string): Promise<Variables> {
  if (env['DATABASE_URL'] !== undefined && env['DATABASE_URL'] !== '') return env;
  const found = await readInstallation(directory).catch(() => null);
  if (found === null) return env;
  const given = Object.entries(env).filter(([, value]) => value !== undefined && value !== '');
  return { ...found, ...Object.fromEntries(given) };
}

async function readInstallation(directory: string): Promise<Record<string, string>> {
  const read = (name: string) => readFile(join(directory, name), 'utf8');
  const password = (await read('postgres/superuser.password')).trim();
  const { postgres, publicUrl, privateAddresses } = ports.parse(JSON.parse(await read('ports.json')));
  const { tokenSecret, masterKey } = secrets.parse(JSON.parse(await read('secrets.json')));
  // Loaded here only: most commands do not need it.
  const { runtimeUrl } = await import('#platform');
  const ownerUrl = `postgres://postgres:${password}@127.0.0.1:${postgres}/mailwright`;
  return {
    DATABASE_URL: runtimeUrl(ownerUrl),
    DATABASE_OWNER_URL: ownerUrl,
    TOKEN_SECRET: tokenSecret,
    MASTER_KEY: masterKey,
    ...(publicUrl === undefined ? {} : { PUBLIC_URL: publicUrl }),
    ...(privateAddresses === true ? { OUTGOING_PRIVATE_ADDRESSES: 'true' } : {}),
  };
}
