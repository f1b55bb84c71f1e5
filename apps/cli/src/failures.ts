import { DomainError, DomainValidationError, NotFoundError } from '#kernel';

/** A command failed; the message is for the operator. The program exits with 1. */
export class OperatorError extends Error {
  constructor(
    readonly code: string,
    message: string,
  ) {
    super(message);
  }
}

/** The command line is wrong. The program exits with 2. */
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

/** Runs `work` and names the option of each value that it refuses: `{ tenantKey: '--key' }`. */
export async function namingOptions<T>(
  options: Readonly<Record<string, string>>,
  work: () => Promise<T>,
): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof DomainValidationError)) throw error;
    const faults = Object.entries(error.errors).map(
      ([field, fault]) => `${options[field.replace(/\[\d+\]$/, '')] ?? field} ${fault}`,
    );
    throw new UsageError(faults.join('\n'));
  }
}

/** For `catch`: says that what the operator named does not exist, where that is the error. */
export function whenNotFound(code: string, message: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof NotFoundError)) throw error;
    throw new OperatorError(code, message);
  };
}

/** The message for the operator about any error. */
export async function failureOf(error: unknown): Promise<Failure> {
  if (error instanceof UsageError) return { code: error.code, message: error.message, exitCode: 2 };
  if (error instanceof OperatorError || error instanceof DomainError) {
    return { code: error.code, message: error.message, exitCode: 1 };
  }
  // Loaded here only: messages about the command line do not need it.
  const { databaseFailure } = await import('#platform');
  return { ...(databaseFailure(error) ?? { code: 'failed', message: messageOf(error) }), exitCode: 1 };
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
