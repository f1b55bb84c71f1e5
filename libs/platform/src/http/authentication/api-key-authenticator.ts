import type { AuthenticatedCaller } from './authenticated-caller.js';

/** Knows the API keys. The HTTP kit asks it; the access context answers. */
export abstract class ApiKeyAuthenticator {
  /** Resolves to null for a key that is unknown, revoked or expired: the caller must not learn which. */
  abstract authenticate(key: string): Promise<AuthenticatedCaller | null>;
}
