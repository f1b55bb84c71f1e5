import { type RawBuilder, sql } from 'kysely';
import type { RetentionKind } from '#platform';

/** From which day on what is kept: `YYYY-MM-DD`; for all environments together the first of a month. */
export interface Horizon {
  readonly kind: RetentionKind;
  readonly day: string;
  /** Null: of all. */
  readonly environmentId: number | null;
}

/** Of one environment, or of all. */
export const within = (environmentId: number | null, column: string): RawBuilder<unknown> =>
  environmentId === null ? sql`true` : sql`${sql.ref(column)} = ${environmentId}`;
