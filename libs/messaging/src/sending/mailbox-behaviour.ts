/** Things that a simulated mailbox does with a mail that it accepted. */
export const MAILBOX_BEHAVIOURS = [
  'bounced',
  'soft-bounced',
  'complained',
  'opened',
  'clicked',
  'unsubscribed',
] as const;
export type MailboxBehaviour = (typeof MAILBOX_BEHAVIOURS)[number];

/** The behaviour of an address by its local part, a `+tag` aside; null for one that only receives, such as `delivered`. */
export function mailboxBehaviour(address: string): MailboxBehaviour | null {
  const local = address.slice(0, address.lastIndexOf('@')).split('+', 1)[0]?.toLowerCase();
  return MAILBOX_BEHAVIOURS.find((behaviour) => behaviour === local) ?? null;
}
