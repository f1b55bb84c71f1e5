/** Meaning of a refusal for the address, the message or us; each class has its own consequence. */
export const BOUNCE_CLASSES = [
  'hard',
  'mailbox',
  'policy',
  'sender',
  'content',
  'network',
  'unknown',
] as const;
export type BounceClass = (typeof BOUNCE_CLASSES)[number];

/** Failure of a mail that was sent: it comes back, for a reason of one of these classes, or is called spam. */
export type MailFailure = BounceClass | 'complaint';

export interface Consequences {
  /** Its address is kept from mail at once, once its mailbox has turned mail away for weeks, or not. */
  readonly address: 'suppress' | 'suppress-after-streak' | 'keep';
  /** Many of its kind stop the project's sending, its domain's, or the flow of mail to the destination. */
  readonly stops: 'project' | 'domain' | 'destination' | null;
  /** True if a later attempt may succeed: then the author may have the mail sent again. */
  readonly mayPass: boolean;
}

/**
 * Consequences of each failure, from whatever source: a reply of the next hop, a report to the return path, a provider's event.
 * A reply leaves the delivery FAILED; a later report leaves it SENT and bounced, hard if it suppresses the address, else soft.
 */
export const CONSEQUENCES: Readonly<Record<MailFailure, Consequences>> = {
  hard: { address: 'suppress', stops: 'project', mayPass: false },
  mailbox: { address: 'suppress-after-streak', stops: null, mayPass: true },
  policy: { address: 'keep', stops: 'destination', mayPass: true },
  sender: { address: 'keep', stops: 'domain', mayPass: false },
  content: { address: 'keep', stops: null, mayPass: false },
  network: { address: 'keep', stops: null, mayPass: true },
  unknown: { address: 'keep', stops: null, mayPass: true },
  complaint: { address: 'suppress', stops: 'project', mayPass: false },
};

/** The classes of bounces of which `holds`. */
export function bounceClassesOf(holds: (consequences: Consequences) => boolean): BounceClass[] {
  const failures = Object.keys(CONSEQUENCES) as MailFailure[];
  return failures.filter((failure) => failure !== 'complaint').filter((each) => holds(CONSEQUENCES[each]));
}
