/**
 * A lease is a sender's hold on what one claim gave it: what it writes later counts only while it stands. Each claim has a token
 * of its own, so that what was taken from a sender and claimed by it again is not mistaken for what it had before.
 *
 * How long a claim holds, by PostgreSQL's clock. A sender that lives renews it; one that died is found out after this time. */
export const LEASE_MS = 20_000;
export const RENEW_EVERY_MS = 5_000;
