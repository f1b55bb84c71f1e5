import { type RawBuilder, sql } from 'kysely';
import type { ProjectScope } from '#kernel';

/** What who decides about an address has alone, in the address space of advisory locks. */
export function addressLock({ environmentId }: ProjectScope, emailKey: string): RawBuilder<number> {
  return sql<number>`hashtextextended(${`${environmentId}:${emailKey}`}, 0)`;
}
