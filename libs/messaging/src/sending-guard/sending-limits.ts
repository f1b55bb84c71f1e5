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
