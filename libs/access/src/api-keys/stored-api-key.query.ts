import { sql } from 'kysely';
import type { Environment } from '#kernel';
import type { Sql } from '#platform';

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

/** The key with this hash, whatever its state, or null. */
export async function findApiKey(db: Sql, hash: Buffer): Promise<StoredApiKey | null> {
  const { rows } = await sql<StoredApiKey>`
    select key_id as "keyId", key_hash as "keyHash", tenant_id as "tenantId", project_id as "projectId",
      environment_id as "environmentId", environment, scopes, rate_limit_per_minute as "rateLimitPerMinute",
      expires_at as "expiresAt", revoked_at as "revokedAt"
    from access.find_api_key(${hash})
  `.execute(db);
  return rows[0] ?? null;
}
