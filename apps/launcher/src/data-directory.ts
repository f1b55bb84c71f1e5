import { mkdir, stat } from 'node:fs/promises';
import { errorCode } from './error-code.js';

/** Makes the directory unless it is there. With `recursive`, Node would call a read-only file system ENOENT. */
export async function makeDataDirectory(path: string): Promise<void> {
  try {
    await mkdir(path, { mode: 0o711 });
  } catch (error) {
    if (errorCode(error) === 'EEXIST' && (await stat(path)).isDirectory()) return;
    throw error;
  }
}
