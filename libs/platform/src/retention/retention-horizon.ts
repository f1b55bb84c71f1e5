import { type RawBuilder, sql } from 'kysely';

/** What is let go by the same day: mails, the steps of automations, events. */
export type RetentionKind = 'DELIVERIES' | 'STEPS' | 'EVENTS';

/** The day, `YYYY-MM-DD`, from which on rows of an environment are kept; `-infinity` when nothing was let go. */
export const keptFrom = (kind: RetentionKind, environmentId: unknown): RawBuilder<string> =>
  sql<string>`platform.kept_from(${kind}, ${environmentId})`;
