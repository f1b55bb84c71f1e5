import { chmod, readFile, rename, writeFile } from 'node:fs/promises';
import { errorCode } from './error-code.js';

/** Writes a file that only its owner may read, atomically. */
export async function writePrivateFile(path: string, content: string): Promise<void> {
  const draft = `${path}.${process.pid}.new`;
  await writeFile(draft, content, { mode: 0o600 });
  await chmod(draft, 0o600);
  await rename(draft, path);
}

/** The file's text, or null when there is none. */
export async function readIfPresent(path: string): Promise<string | null> {
  try {
    return await readFile(path, 'utf8');
  } catch (error) {
    if (errorCode(error) === 'ENOENT') return null;
    throw error;
  }
}
