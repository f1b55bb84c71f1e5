import { DomainError, DomainValidationError } from '#kernel';

/** What could not be done, in words for the operator; ends the program with 1. */
export class OperatorError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** What is wrong with the command line; ends the program with 2. */
export class UsageError extends OperatorError {
  constructor(message: string) {
    super('usage', message);
  }
}

export interface Failure {
  readonly code: string;
  readonly message: string;
  readonly exitCode: 1 | 2;
}

/** Runs `work` and says of a value that it refuses by which option it came: `{ tenantKey: '--key' }`. */
export async function namingOptions<T>(
  options: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DomainValidationError)) throw error;
    const faults = Object.entries(error.errors).map(
      ([field, fault]) => `${options[field] ?? field} ${fault}`,
    );
    throw new UsageError(faults.join('\n'));
  }
}

/** What to tell the operator of anything that went wrong. */
export function failureOf(error: unknown): Failure {
  if (error instanceof UsageError) return { code: error.code, message: error.message, exitCode: 2 };
  if (error instanceof OperatorError || error instanceof DomainError) {
    return { code: error.code, message: error.message, exitCode: 1 };
  }
  return databaseFailure(error) ?? { code: 'failed', message: messageOf(error), exitCode: 1 };
}

/** SQLSTATE and system codes that an operator can do something about. */
const DATABASE_FAILURES: Readonly<Record<string, { readonly code: string; readonly message: string }>> = {
  ECONNREFUSED: {
    code: 'unavailable',
    message: 'PostgreSQL does not answer at the host and port of DATABASE_URL.',
  },
  ENOTFOUND: { code: 'unavailable', message: 'The host of DATABASE_URL is not known.' },
  ETIMEDOUT: {
    code: 'unavailable',
    message: 'PostgreSQL does not answer at the host and port of DATABASE_URL.',
  },
  '28P01': { code: 'unavailable', message: 'PostgreSQL refuses the user and password of DATABASE_URL.' },
  '3D000': { code: 'unavailable', message: 'The database of DATABASE_URL does not exist.' },
  '22023': {
    code: 'not-migrated',
    message: 'The database has no schema yet. Run `mailwright migrate` first.',
  },
};

function databaseFailure(error: unknown): Failure | null {
  const known = DATABASE_FAILURES[codeOf(error)];
  return known === undefined ? null : { ...known, exitCode: 1 };
}

/** Of a connection tried at several addresses, the first one's. */
function codeOf(error: unknown): string {
  if (error instanceof AggregateError && !('code' in error)) return codeOf(error.errors[0]);
  if (!(error instanceof Error) || !('code' in error)) return '';
  return String(error.code);
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
