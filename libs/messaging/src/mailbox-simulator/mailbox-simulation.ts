/** What a simulated mailbox does with a mail that it accepted. */
export const MAILBOX_BEHAVIOURS = [
  'bounced',
  'soft-bounced',
  'complained',
  'opened',
  'clicked',
  'unsubscribed',
] as const;
export type MailboxBehaviour = (typeof MAILBOX_BEHAVIOURS)[number];

/** By the local part, a `+tag` aside; null for an address that only receives, `delivered` among them. */
export function mailboxBehaviour(address: string): MailboxBehaviour | null {
  const local = address.slice(0, address.lastIndexOf('@')).split('+', 1)[0]?.toLowerCase();
  return MAILBOX_BEHAVIOURS.find((behaviour) => behaviour === local) ?? null;
}

/** A mail whose mailbox is simulated, and was accepted. */
export interface Simulation {
  readonly deliveryId: string;
  readonly behaviour: MailboxBehaviour;
  readonly environmentId: number;
  /** Null for an automation's mail. */
  readonly campaignId: string | null;
  /** The campaign, or the step of somebody's run. */
  readonly sourceId: string;
  /** The partition of the delivery, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly locale: string | null;
  readonly state: string;
}
