import type { RelayStream } from '#deliverability';
import { type Environment, type MailBody, maskAddress, maskAddresses } from '#kernel';

export type DeliveryKind = 'OPT_IN' | 'CAMPAIGN' | 'AUTOMATION' | 'TEST' | 'MESSAGE';

/** The stream of relays by which mail of a kind goes. */
export const streamOf = (kind: DeliveryKind): RelayStream => (kind === 'MESSAGE' ? 'TRANSACTIONAL' : kind);

/** States of a delivery; the last five are terminal, AMBIGUOUS where it is not sent again. */
export const DELIVERY_STATES = [
  'PENDING',
  'CLAIMED',
  'SENDING',
  'DEFERRED',
  'SENT',
  'FAILED',
  'AMBIGUOUS',
  'SKIPPED',
  'CANCELLED',
] as const;
export type DeliveryState = (typeof DELIVERY_STATES)[number];

/** A delivery that this sender holds a lease on. */
export interface ClaimedDelivery {
  readonly id: string;
  /** The partition that it lies in, `YYYY-MM-DD`. */
  readonly queuedOn: string;
  readonly kind: DeliveryKind;
  /** The campaign, or the confirmation. */
  readonly sourceId: string;
  readonly subscriberId: string | null;
  readonly address: string;
  /** The recipient's language, by which its content is chosen; null: not known. */
  readonly locale: string | null;
  /** Number of its campaign's variant, from 1; null: the first, or none. */
  readonly variant: number | null;
  readonly messageId: string;
  /** This claim's own: what its sender writes counts only while the row has it. */
  readonly leaseToken: string;
  /** The server's epoch in which it was claimed; null where its marks are waited for. */
  readonly leaseEpoch: number | null;
  /** Attempts begun before this one. */
  readonly attempt: number;
  readonly createdAt: Date;
  /** Since when it could have been tried: not since it was made, if others came before it or its campaign was paused. */
  readonly dueSince: Date;
  /** A sender died, or got no reply, when the body was on its way: it may have arrived. */
  readonly interrupted: boolean;
  /** It was sent anew once already after that. */
  readonly possibleDuplicate: boolean;
  /** The project's relay that it was handed to last, or is being handed to; null: the installation's, or none yet. */
  readonly relayKey: string | null;
  /** The span that queued it; null where that was not traced. */
  readonly traceparent: string | null;
}

/** Fields of a delivery that show an address. */
export interface Addressed {
  readonly email: string | null;
  readonly lastError: string | null;
}

/** A delivery for those who may not read subscribers: addresses are masked, also in what a mail server said. */
export function masked<Row extends Addressed>(row: Row): Row {
  const { email, lastError } = row;
  return {
    ...row,
    email: email === null ? null : maskAddress(email),
    lastError: lastError === null ? null : maskAddresses(lastError),
  };
}

/** The links of a mail, as the test inbox shows them. */
export interface MailLinks {
  readonly confirm?: string;
  readonly unsubscribe?: string;
  readonly preferences?: string;
  readonly view?: string;
}

/** A mail that is ready for the wire. */
export interface OutgoingMail {
  readonly deliveryId: string;
  readonly environmentId: number;
  readonly environment: Environment;
  readonly kind: DeliveryKind;
  readonly from: string;
  readonly to: string;
  readonly subject: string;
  readonly links: MailLinks;
  readonly envelopeFrom: string;
  readonly envelopeTo: string;
  readonly raw: MailBody;
}

/** Names the mail that will probably follow over the same connection. */
export type NextMail = () => OutgoingMail | undefined;
