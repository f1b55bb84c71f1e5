import type { ApiScope, ProjectScope } from '#kernel';

/** Whom a valid API key speaks for. */
export interface AuthenticatedCaller {
  readonly keyId: string;
  readonly scope: ProjectScope;
  readonly scopes: ReadonlySet<ApiScope>;
  /** Null: the operator's default for all keys. */
  readonly rateLimitPerMinute: number | null;
}
