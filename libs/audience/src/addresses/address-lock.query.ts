import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';

/** The class of advisory locks on addresses: whoever holds one alone decides about the address. */
export function addressLock({ environmentId }: ProjectScope, emailKey: string): RawBuilder<number> {
  return sql<number>`hashtextextended(${`${environmentId}:${emailKey}`}, 0)`;
}
