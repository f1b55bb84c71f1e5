import { DomainError } from '#kernel';
import { SQL_STATE, sqlStateOf } from '#platform';

/** Another subscriber of the project has the address, or the external id. */
export class SubscriberExistsError extends DomainError {
  override readonly code = 'already-exists';

  constructor(readonly field: 'email' | 'externalId') {
    super(
      field === 'email'
        ? 'A subscriber with this e-mail address exists already.'
        : 'Another subscriber has this externalId already.',
    );
  }

  override get members(): Readonly<Record<string, unknown>> {
    return this.field === 'email' ? {} : { field: this.field };
  }
}

/** The indexes that keep people apart. Citus names them in the message alone, with the number of a shard behind. */
const UNIQUE = { email: 'subscribers_by_address', externalId: 'subscribers_by_external_id' } as const;

/** The field of a subscriber that another one has, by the refusal of the database; null for another error. */
export function takenFieldOf(error: unknown): keyof typeof UNIQUE | null {
  if (sqlStateOf(error) !== SQL_STATE.uniqueViolation) return null;
  const said = error instanceof Error ? error.message : '';
  if (said.includes(UNIQUE.email)) return 'email';
  return said.includes(UNIQUE.externalId) ? 'externalId' : null;
}

/** The result of `write`. Throws SubscriberExistsError where another subscriber has the address or the external id. */
export async function unlessOthers<Result>(write: Promise<Result>): Promise<Result> {
  try {
    return await write;
  } catch (error) {
    const field = takenFieldOf(error);
    throw field === null ? error : new SubscriberExistsError(field);
  }
}
