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
