/** Longer than any campaign is sent. */
export const CAMPAIGN_MS = 30 * 24 * 60 * 60_000;

/** What a project's recent mail came to. */
export interface SendingFigures {
  /** Sent, or refused by the next hop since the address does not exist. */
  readonly mails: number;
  readonly hardBounces: number;
  readonly complaints: number;
}

/**
 * Beyond these a sender is blocked by others. 0.3 % is what Gmail and Yahoo ask of bulk senders; 5 % hard bounces is
 * where mail services review an account. Fewer mails than 500 say too little.
 */
export const SENDING_LIMITS = { leastMails: 500, hardBounces: 0.05, complaints: 0.003 } as const;

/** What became of a domain's mails of the last hour. */
export interface SenderFigures {
  /** Sent, or refused by the next hop for their address or their sender. */
  readonly mails: number;
  /** Refused, at once or by a report, since the sender is not accepted or its SPF, DKIM or DMARC failed. */
  readonly senderRefusals: number;
}

/**
 * A broken domain is refused by every large provider, which each is a tenth of most lists and more. A few that refuse it
 * alone, or who make up reports on the mail they got, stop nobody.
 */
export const SENDER_LIMITS = { leastRefusals: 3, refusals: 0.1 } as const;

/** Why the domain of these figures must not go on; null when it may. */
export function senderFaultOf({ mails, senderRefusals }: SenderFigures): string | null {
  if (senderRefusals < SENDER_LIMITS.leastRefusals) return null;
  if (senderRefusals <= mails * SENDER_LIMITS.refusals) return null;
  return `${senderRefusals} of the last ${mails} mails were refused for their sender or its SPF, DKIM or DMARC; more than 10 % stop a domain.`;
}

/** Why a project with these figures must not go on; null when it may. */
export function faultOf({ mails, hardBounces, complaints }: SendingFigures): string | null {
  if (mails < SENDING_LIMITS.leastMails) return null;
  if (hardBounces > mails * SENDING_LIMITS.hardBounces) {
    return `${hardBounces} of the last ${mails} mails went to addresses that do not exist; more than 5 % stop a project.`;
  }
  if (complaints > mails * SENDING_LIMITS.complaints) {
    return `${complaints} of the last ${mails} mails were called spam; more than 0.3 % stop a project.`;
  }
  return null;
}
