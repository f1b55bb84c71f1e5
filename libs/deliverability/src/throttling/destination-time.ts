const MINUTE_MS = 60_000;

/** What holds mail to a destination back. */
export interface DestinationPaceFacts {
  readonly mailsPerSecond: number | null;
  readonly slowUntil: Date | null;
}

/**
 * How many milliseconds from `now` the last of so many mails may go to a destination that has all of its budget for them:
 * one a minute while it is slowed down, then its rate.
 */
export function linePlaceMs(
  mails: number,
  { mailsPerSecond, slowUntil }: DestinationPaceFacts,
  now: Date,
): number {
  const slowMs = slowUntil === null ? 0 : Math.max(0, slowUntil.getTime() - now.getTime());
  const slowMails = Math.floor(slowMs / MINUTE_MS);
  if (mails <= slowMails) return mails * MINUTE_MS;
  return slowMs + (mailsPerSecond === null ? 0 : ((mails - slowMails) / mailsPerSecond) * 1_000);
}
