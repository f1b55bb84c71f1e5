import { mkdir, stat } from 'node:fs/promises';
import { errorCode } from './error-code.js';

/** Creates the directory unless it exists. With `recursive`, Node would report a read-only file system as ENOENT. */
export async function makeDataDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o711 });
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    throw error;
  }
}
