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
export async function failureOf(error: unknown): Promise<Failure> {
  if (error instanceof UsageError) return { code: error.code, message: error.message, exitCode: 2 };
  if (error instanceof OperatorError || error instanceof DomainError) {
    return { code: error.code, message: error.message, exitCode: 1 };
  }
  // Loaded here alone: a wrong command line is told without it.
  const { databaseFailure } = await import('#platform');
  return { ...(databaseFailure(error) ?? { code: 'failed', message: messageOf(error) }), exitCode: 1 };
}

function messageOf(error: unknown): string {
  return error instanceof Error && error.message !== '' ? error.message : String(error);
}
