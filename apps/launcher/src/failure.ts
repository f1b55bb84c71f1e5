import { PostgresStartError } from '#platform/embedded-postgres';

/** Mailwright cannot start; the message tells the person at the terminal why. */
export class LaunchError extends Error {
  override readonly name = 'LaunchError';
}

/** The system's code for an error, such as `ENOENT`, or undefined. */
export function errorCode(error: unknown): unknown {
  return typeof error === 'object' && error !== null && 'code' in error ? error.code : undefined;
}

/** The system's error about a file, and what to do about it. */
const FILE_FAILURES: Readonly<Record<string, string>> = {
  EACCES:
    'The files in .data may belong to the user who started Mailwright first (sudo?). Start it as that user, or make them yours: sudo chown -R "$(id -un)" .data',
  EPERM: 'This user may not do that in this directory. Start Mailwright in one of your own.',
  EROFS: 'The directory can only be read; Mailwright keeps its data in .data below it. Start it in another.',
  ENOSPC: 'The disk is full. Make room and start again; what is in .data goes on.',
  EDQUOT: 'Your quota of the disk is used up. Make room and start again; what is in .data goes on.',
  EEXIST: '.data has to be a directory. Move what is there out of the way.',
  ENOTDIR: '.data has to be a directory. Move what is there out of the way.',
};

/** The message at the terminal when Mailwright does not start; with a stack when the error is unexpected. */
export function inPlainWords(error: unknown): string {
  if (error instanceof LaunchError || error instanceof PostgresStartError) return error.message;
  const advice = FILE_FAILURES[String(errorCode(error))];
  if (advice !== undefined) return `${String(error)}\n${advice}`;
  return error instanceof Error ? (error.stack ?? error.message) : String(error);
}
