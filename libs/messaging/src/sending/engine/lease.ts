/** How long a sender's lease on what it claimed holds. One that lives renews it; one that died is found out after this time. */
export const LEASE_MS = 20_000;
export const RENEW_EVERY_MS = 5_000;
