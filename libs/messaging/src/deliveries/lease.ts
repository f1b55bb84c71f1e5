/** A sender's hold on the deliveries that it claimed: what it writes later counts only while it stands. */
export interface Lease {
  readonly token: string;
  readonly until: Date;
}

/** How long a claim holds. A sender that lives renews it; one that died is found out after this time. */
export const LEASE_MS = 20_000;
export const RENEW_EVERY_MS = 5_000;
