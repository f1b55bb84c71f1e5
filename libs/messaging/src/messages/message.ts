import { NotSubscribedError, SuppressedError } from '#audience';
import {
  boundedErrors,
  DomainValidationError,
  type EmailAddress,
  type Metadata,
  type MetadataPatch,
  RateLimitedError,
} from '#kernel';
import type { Attachment } from '../content/mail/attachment-part.js';
import type { GivenAttachment } from './attachment.js';
import type { OwnSender } from '../campaigns/from-addresses.service.js';

/** States of a message, which are those of its mail to `to`; all but the first two are its end, DELIVERED and what follows may come later. */
export const MESSAGE_STATUSES = [
  'SCHEDULED',
  'QUEUED',
  'SENT',
  'DELIVERED',
  'BOUNCED',
  'COMPLAINED',
  'FAILED',
  'EXPIRED',
  'SUPPRESSED',
  'CANCELLED',
] as const;
export type MessageStatus = (typeof MESSAGE_STATUSES)[number];

export const KEPT_CONTENT = ['CONTENT', 'NOTHING'] as const;
export type KeptContent = (typeof KEPT_CONTENT)[number];

/** An address and the name beside it. */
export interface NamedAddress {
  readonly email: string;
  readonly name: string | null;
}

/** A file of a message; its octets stand apart. */
export interface AttachedFile extends Omit<Attachment, 'content'> {
  /** Octets. */
  readonly size: number;
}

/** The parts of a message that its author writes. */
export interface MessageParts {
  readonly subject: string;
  /** Preview text of a template; null: none. */
  readonly previewText?: string | null;
  readonly contentJson: string | null;
  readonly text: string | null;
  /** Locale of the template's translation that they are from; null: its own content. */
  readonly translation?: string | null;
}

/** All that a message's mail is made of; its parts are empty where a template has them. */
export interface MessageContent extends OwnSender, MessageParts {
  readonly to: NamedAddress;
  readonly cc: readonly NamedAddress[];
  readonly replyTo: readonly string[];
  readonly data: Readonly<Record<string, unknown>>;
  /** `X-…`, References and In-Reply-To; a message that is accepted has them with its data filled in. */
  readonly headers: Readonly<Record<string, string>>;
  readonly attachments?: readonly AttachedFile[];
}

/** A recipient of a message: a delivery of its own. */
export interface MessageRecipient {
  readonly address: EmailAddress;
  readonly name: string | null;
}

/** Tracking of the mail to `to`; copies are never tracked. */
export interface MessageTracking {
  readonly opens: boolean;
  readonly clicks: boolean;
}

/** Template that a message asks for. */
export interface AskedTemplate {
  /** Key or alias. */
  readonly key: string;
  /** Null: the one in use. */
  readonly version: number | null;
  /** Fields of content that were given besides. */
  readonly besides: readonly string[];
}

export interface NewMessage extends Omit<MessageContent, 'to' | 'cc' | 'attachments'> {
  readonly to: MessageRecipient;
  readonly cc: readonly MessageRecipient[];
  readonly bcc: readonly MessageRecipient[];
  readonly attachments?: readonly GivenAttachment[] | undefined;
  /** Template that its parts are from; none where they are its own. */
  readonly template?: AskedTemplate | undefined;
  /** Reason why it may be sent without consent; null: the template's. */
  readonly purpose: string | null;
  /** Topic of a notification, which only its subscribers get, and can leave; null for mail that needs no consent. */
  readonly topicKey: string | null;
  readonly tags: readonly string[];
  readonly metadata?: MetadataPatch | undefined;
  readonly locale: string | null;
  readonly scheduledAt: Date | null;
  readonly expiresAt: Date | null;
  readonly keep: KeptContent;
  readonly track: MessageTracking;
  /** Policy for a mail whose fate nobody knows. */
  readonly ambiguous: 'RESEND' | 'HOLD';
}

/** A message as answers show it. */
export interface MessageView {
  readonly id: string;
  readonly to: string;
  readonly subject: string | null;
  readonly status: MessageStatus;
  readonly purpose: string;
  /** Also of a topic that was deleted since. */
  readonly topicKey: string | null;
  /** Also of a template that was deleted since. */
  readonly templateKey: string | null;
  readonly templateVersion: number | null;
  readonly tags: readonly string[];
  readonly metadata: Metadata;
  readonly locale: string | null;
  readonly keep: KeptContent;
  readonly track: MessageTracking;
  readonly relayKey: string | null;
  readonly failureReason: string | null;
  readonly scheduledAt: Date | null;
  readonly expiresAt: Date | null;
  readonly sentAt: Date | null;
  readonly deliveredAt: Date | null;
  readonly createdAt: Date;
  readonly updatedAt: Date;
}

export interface MessageFilter {
  /** A normalised address. */
  readonly toKey?: string | undefined;
  readonly status?: MessageStatus | undefined;
  readonly tag?: string | undefined;
  /** Key or alias of a template. */
  readonly templateKey?: string | undefined;
  readonly createdAfter?: Date | undefined;
}

const DAY_MS = 86_400_000;
/** The furthest that a message may be scheduled ahead. */
export const MOST_AHEAD_MS = 30 * DAY_MS;

/** Faults of the times of a message, by field. */
export function timeFaults(
  { scheduledAt, expiresAt }: Pick<NewMessage, 'scheduledAt' | 'expiresAt'>,
  now: Date,
): Record<string, string> {
  const faults: Record<string, string> = {};
  if (scheduledAt !== null && scheduledAt.getTime() > now.getTime() + MOST_AHEAD_MS)
    faults['scheduledAt'] = 'must be at most 30 days ahead';
  if (expiresAt !== null && expiresAt <= (scheduledAt ?? now))
    faults['expiresAt'] = scheduledAt === null ? 'must be in the future' : 'must be after scheduledAt';
  return faults;
}

/** Faults of a message's tracking, by field. */
export function trackFaults({
  track: { opens, clicks },
  contentJson,
  keep,
}: Pick<NewMessage, 'track' | 'contentJson' | 'keep'>): Record<string, string> {
  const faults: Record<string, string> = {};
  const needsHtml = contentJson === null ? 'must be false for a message of text alone' : undefined;
  if (opens && needsHtml !== undefined) faults['track.opens'] = needsHtml;
  if (clicks && needsHtml !== undefined) faults['track.clicks'] = needsHtml;
  else if (clicks && keep === 'NOTHING')
    faults['track.clicks'] = 'must be false with keep NOTHING: the addresses that links lead to are kept';
  return faults;
}

/** The paths of `data.…` that the content needs and `data` has nothing at; `optional`: those of values that it may lack. */
export function missingData(
  required: readonly string[],
  data: Readonly<Record<string, unknown>>,
  optional: readonly string[] = [],
): string[] {
  const isMissing = (path: string) => (valueAt(path, data) ?? null) === null;
  const lacked = optional.filter(isMissing);
  return required.filter(
    (path) => isMissing(path) && !lacked.some((name) => path === name || path.startsWith(`${name}.`)),
  );
}

/** The paths at which `data` has an object, or a list with one, of those that the content shows as they are. */
export function unshowableData(shown: readonly string[], data: Readonly<Record<string, unknown>>): string[] {
  const isObject = (value: unknown) => typeof value === 'object' && value !== null && !Array.isArray(value);
  return shown.filter((path) => [valueAt(path, data)].flat().some(isObject));
}

function valueAt(path: string, data: Readonly<Record<string, unknown>>): unknown {
  let value: unknown = data;
  for (const name of path.split('.'))
    value =
      typeof value === 'object' && value !== null && Object.hasOwn(value, name)
        ? (value as Record<string, unknown>)[name]
        : undefined;
  return value;
}

/** One address has got as many messages of a day as it may. */
export class TooManyMessagesError extends RateLimitedError {
  /** `recipients` names the addresses by their paths. */
  constructor(
    readonly limit: number,
    readonly recipients: Readonly<Record<string, string>>,
    retryAfterSeconds: number,
  ) {
    super(`The address has got ${limit} messages within 24 hours, the most that one may.`, retryAfterSeconds);
  }

  override get members(): Readonly<Record<string, unknown>> {
    return { ...super.members, recipients: boundedErrors(this.recipients) };
  }
}

/** Reasons for which a message is refused; each names what is wrong by paths. */
export type MessageRefusal =
  | DomainValidationError
  | SuppressedError
  | NotSubscribedError
  | TooManyMessagesError;

/** Ways to accept a batch: as a whole or not at all, or each message by itself. */
export const BATCH_MODES = ['ALL', 'EACH'] as const;
export type BatchMode = (typeof BATCH_MODES)[number];

/** The refusal of several messages as one, which names all that is wrong: 422, unless a later try may go through. */
export function refusalOfAll(refusals: readonly MessageRefusal[]): MessageRefusal {
  const faults = Object.assign(
    {},
    ...refusals.map((refusal) => ('errors' in refusal ? refusal.errors : refusal.recipients)),
  ) as Readonly<Record<string, string>>;
  const frequent = refusals.filter((refusal) => refusal instanceof TooManyMessagesError);
  const [first] = frequent;
  if (first === undefined || refusals.length > frequent.length) {
    const invalid = refusals.find((refusal) => refusal instanceof DomainValidationError);
    return new DomainValidationError(faults, invalid?.message);
  }
  const wait = Math.max(...frequent.map(({ retryAfterSeconds }) => retryAfterSeconds));
  return new TooManyMessagesError(first.limit, faults, wait);
}
