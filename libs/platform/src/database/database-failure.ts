/** Why the database cannot be worked with, in words for the operator. */
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
  'The connection to PostgreSQL ended. Either it has stopped, and its log says why, or what answers at DATABASE_URL is no PostgreSQL.',
);

/** By SQLSTATE and by the code of the system. */
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
    'The database of DATABASE_URL does not exist. Make it (`createdb`), then run `npm run migrate`.',
  ),
  '22023': {
    code: 'not-migrated',
    message: 'The database has no schema yet. Run `npm run migrate` first.',
  },
  '53100': unavailable('PostgreSQL has no room left on its disk.'),
  '53300': unavailable(
    'PostgreSQL has no connection left: raise its max_connections, or lower DATABASE_POOL_SIZE.',
  ),
  '57P01': NOT_NOW,
  '57P02': NOT_NOW,
  '57P03': NOT_NOW,
};

/** What an operator can do about a database that fails at the start; null when `error` is of another kind. */
export function databaseFailure(error: unknown): DatabaseFailure | null {
  if (typeof error !== 'object' || error === null) return null;
  const code = 'code' in error ? String(error.code) : '';
  const text = 'message' in error ? String(error.message) : '';
  if (code === '42501') {
    const [refused] = text.split('\n');
    return {
      code: 'forbidden',
      message: `The user of DATABASE_URL has too few rights (docs/database.md#logins): ${refused}.`,
    };
  }
  return BY_CODE[code] ?? (/^Connection terminated|is not queryable$/.test(text) ? CUT : null);
}

function unavailable(message: string): DatabaseFailure {
  return { code: 'unavailable', message };
}
