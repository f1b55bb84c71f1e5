import { randomBytes } from 'node:crypto';
import { chmod } from 'node:fs/promises';
import { z } from 'zod';
import { LaunchError } from './launch.error.js';
import { readIfPresent, writePrivateFile } from './private-file.js';

const secret = z.string().min(32);
const secrets = z.object({ tokenSecret: secret, masterKey: secret });

/** The secrets that sign links and encrypt stored secrets, when the environment has none. */
export type Secrets = z.infer<typeof secrets>;

/**
 * The secrets of this installation, created at the first start (256 random bits each). A damaged file is an error: with
 * new secrets, existing encrypted data could not be read.
 */
export async function readOrMakeSecrets(path: string): Promise<Secrets> {
  const text = await readIfPresent(path);
  if (text === null) {
    const made = { tokenSecret: newSecret(), masterKey: newSecret() };
    await writePrivateFile(path, `${JSON.stringify(made, null, 2)}\n`);
    return made;
  }
  const parsed = secrets.safeParse(parseJson(text));
  if (!parsed.success) {
    throw new LaunchError(
      `${path} is damaged. Restore it from a backup; or, if nothing in the database matters, remove it together with the database.`,
    );
  }
  await chmod(path, 0o600);
  return parsed.data;
}

function newSecret(): string {
  return randomBytes(32).toString('base64url');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return null;
  }
}
