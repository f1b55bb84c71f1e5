import { sql } from 'kysely';
import type { Environment } from '#kernel';
import type { Database } from '#platform';

/** What is stored of a key, with whom it speaks for. */
export interface StoredApiKey {
  readonly keyId: string;
  readonly keyHash: Buffer;
  readonly tenantId: number;
  readonly projectId: number;
  readonly environmentId: number;
  readonly environment: Environment;
  readonly scopes: readonly string[];
  readonly rateLimitPerMinute: number | null;
  readonly expiresAt: Date | null;
  readonly revokedAt: Date | null;
}

/** The key with this hash, whatever its state, or null. A function of its own, since it is looked up before there is a scope. */
export async function findApiKey(database: Database, hash: Buffer): Promise<StoredApiKey | null> {
  const { rows } = await sql<StoredApiKey>`select * from access.find_api_key(${hash})`.execute(
    database.unscopedTables(),
  );
  return rows[0] ?? null;
}
