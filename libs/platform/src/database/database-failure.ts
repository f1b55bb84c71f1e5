import { UniqueConstraintViolationException } from '@mikro-orm/postgresql';

/** DATABASE_URL leads to something that this version cannot work with; the message says what to do. */
export class UnfitDatabaseError extends Error {}

/** Conditions by their names in PostgreSQL, appendix A. */
export const SQL_STATE = {
  foreignKeyViolation: '23503',
  insufficientPrivilege: '42501',
  lockNotAvailable: '55P03',
  queryCanceled: '57014',
  uniqueViolation: '23505',
} as const;

/** SQLSTATE of a refusal by the server, or the code of another error; null without any. */
export function sqlStateOf(error: unknown): string | null {
  return error instanceof Error && 'code' in error && typeof error.code === 'string' ? error.code : null;
}

/** The result of `write`; `taken` is thrown in place of a violated unique constraint. */
export async function unlessTaken<Result>(write: Promise<Result>, taken: () => Error): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    throw error instanceof UniqueConstraintViolationException ? taken() : error;
  }
}

/** Reason why the database cannot be used, in words for the operator. */
export interface DatabaseFailure {
  readonly code: 'unavailable' | 'not-migrated' | 'forbidden';
  readonly message: string;
}

const SILENT = unavailable(
  'PostgreSQL does not answer at the host and port of DATABASE_URL. Is it running, and may this machine reach it?',
);
const UNKNOWN_HOST = unavailable('The host of DATABASE_URL is not known.');
const REFUSED = unavailable('PostgreSQL refuses the user and password of DATABASE_URL.');
const NOT_NOW = unavailable('PostgreSQL is starting or stopping. Try again in a moment; its log says more.');
const CUT = unavailable(
  'The connection to PostgreSQL ended. Either it has stopped, and its log says why, ' +
    'or what answers at DATABASE_URL is no PostgreSQL.',
);

const POOLED = unavailable(
  'DATABASE_URL leads to a connection pooler in transaction mode: set it back to session mode (docs/database.md#poolers).',
);
const READ_ONLY = unavailable(
  'PostgreSQL can only be read: DATABASE_URL leads to a standby, or to a server that was demoted.',
);

const DISK_FAILS = unavailable('PostgreSQL cannot read or write its disk: its log says more.');

/** Failures by SQLSTATE and by the system's code. */
const BY_CODE: Readonly<Record<string, DatabaseFailure>> = {
  ECONNREFUSED: SILENT,
  EHOSTUNREACH: SILENT,
  ENETUNREACH: SILENT,
  ETIMEDOUT: SILENT,
  ECONNRESET: CUT,
  ENOTFOUND: UNKNOWN_HOST,
  EAI_AGAIN: UNKNOWN_HOST,
  '28000': REFUSED,
  '28P01': REFUSED,
  '3D000': unavailable(
    'The database of DATABASE_URL does not exist. Make it (`createdb`), then run `mailwright migrate` (in a clone: `npm run migrate`).',
  ),
  '22023': {
    code: 'not-migrated',
    message:
      'The database has no schema yet. Run `mailwright migrate` first (in a clone: `npm run migrate`).',
  },
  '25006': READ_ONLY,
  '53100': unavailable('PostgreSQL has no room left on its disk.'),
  '53400': unavailable('PostgreSQL cannot write temporary files: is its temp_file_limit next to nothing?'),
  '58030': DISK_FAILS,
  '53300': unavailable(
    'PostgreSQL has no connection left: raise its max_connections, or lower DATABASE_POOL_SIZE.',
  ),
  '57P01': NOT_NOW,
  '57P02': NOT_NOW,
  '57P03': NOT_NOW,
};

/** Connection lost, resources, shutdown, read-only server, failing disk (PostgreSQL, appendix A). */
const OUTAGES = /^(08...|25006|53[0-2]00|57P0[1-4]|58000|58030)$/;

/**
 * PostgreSQL cannot get at its own files, such as on a read-only disk. It has the SQLSTATE of a user with too few rights
 * (`errcode_for_file_access`), so that only the words tell, where lc_messages are English.
 */
const OWN_FILES = /\bcould not [\w ]+ (?:file|directory) "|: Read-only file system\b/;
const isDiskFault = (code: unknown, words: string): boolean =>
  code === SQL_STATE.insufficientPrivilege && OWN_FILES.test(words);

/** The driver's words for a lost connection. */
const LOST = /^(Connection terminated|Client has encountered a connection error)/;

/** The pool's words after waiting for a connection in vain. */
export const NO_CONNECTION = /^timeout exceeded when trying to connect/;
const WAITED = unavailable(
  'No connection to PostgreSQL was made or became free in time: does it answer, and is DATABASE_POOL_SIZE enough?',
);

/** True if the server is away, or refuses to work for anybody. */
export function isServerOutage(error: unknown): boolean {
  if (!(error instanceof Error)) return false;
  const { code, syscall } = error as { readonly code?: unknown; readonly syscall?: unknown };
  if (typeof syscall === 'string' || isDiskFault(code, error.message)) return true;
  return OUTAGES.test(String(code)) || LOST.test(error.message);
}

/**
 * Advice to the operator about a database that fails at the start, with the setting that leads to it; null for an error of
 * another kind.
 */
export function databaseFailure(error: unknown, setting = 'DATABASE_URL'): DatabaseFailure | null {
  const failure = failureOf(error);
  return failure && { ...failure, message: failure.message.replaceAll('DATABASE_URL', setting) };
}

function failureOf(error: unknown): DatabaseFailure | null {
  if (typeof error !== 'object' || error === null) return null;
  const code = 'code' in error ? String(error.code) : '';
  const text = 'message' in error ? String(error.message) : '';
  if (isDiskFault(code, text)) return DISK_FAILS;
  if (code === SQL_STATE.insufficientPrivilege) {
    const [refused] = text.split('\n');
    return {
      code: 'forbidden',
      message: `The user of DATABASE_URL has too few rights (docs/database.md#logins): ${refused}.`,
    };
  }
  if (/a pooler is in transaction mode/.test(text)) return POOLED;
  if (NO_CONNECTION.test(text)) return WAITED;
  return BY_CODE[code] ?? (/^Connection terminated|is not queryable$/.test(text) ? CUT : null);
}

function unavailable(message: string): DatabaseFailure {
  return { code: 'unavailable', message };
}
