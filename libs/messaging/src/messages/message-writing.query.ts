import { type RawBuilder, sql } from 'kysely';
import type { AddressDigestsService, NamedTopic } from '#audience';
import { newId, patchedMetadata, type ProjectScope, type RepeatableRequest } from '#kernel';
import { named } from '#platform';
import type { MailOrigin } from '../campaigns/from-addresses.service.js';
import type { Attachment } from '../content/mail/attachment-part.js';
import type { MessageTemplate } from './message-templates.service.js';
import type { MessageSealsService } from './message-seals.service.js';
import { MESSAGE_COLUMNS } from './messages.query.js';
import type {
  AttachedFile,
  MessageContent,
  MessageRecipient,
  MessageStatus,
  MessageView,
  NewMessage,
} from './message.js';

/** A message of a request, and the beginning of its fields' paths: empty, or `messages[3].`. */
export interface AskedMessage {
  readonly message: NewMessage;
  readonly path: string;
  /** Its place in the request. */
  readonly place: number;
}

/** A message that may be accepted as far as it is known by itself. */
export interface CheckedMessage extends AskedMessage {
  readonly id: string;
  readonly origin: MailOrigin;
  /** Template whose content it refers to; null where its content is its own. */
  readonly template: MessageTemplate | null;
  /** Null for mail that needs no consent. */
  readonly topic: NamedTopic | null;
  /** `to`, `cc` and `bcc`. */
  readonly recipients: readonly MessageRecipient[];
  /** Decoded. */
  readonly attachments: readonly Attachment[];
}

/** Writes accepted messages, their tags and their deliveries, one for each recipient; returns them as answers show them. */
export function writingMessages(
  { digests, seals }: { readonly digests: AddressDigestsService; readonly seals: MessageSealsService },
  scope: ProjectScope,
  accepted: readonly CheckedMessage[],
  {
    fileKeys,
    usagePeriod,
    request,
  }: {
    readonly fileKeys: ReadonlyMap<string, string>;
    readonly usagePeriod: Date | null;
    readonly request: RepeatableRequest | null;
  },
  now: Date,
): RawBuilder<MessageView> {
  const { environmentId } = scope;
  const day = now.toISOString().slice(0, 10);
  const digestOf = (recipient: MessageRecipient) =>
    `\\x${digests.of(scope, recipientKey(recipient)).toString('hex')}`;
  const messages = accepted.map(
    ({ id, message, place, template, topic, recipients: [to, ...copies], attachments }) => {
      const { subject, purpose, tags, metadata, locale, keep, track, ambiguous, scheduledAt, expiresAt } =
        message;
      const files = attachments.map(attachedFile);
      const content = { ...contentOf(message), ...(template !== null && NO_PARTS), attachments: files };
      const isKept = keep === 'CONTENT';
      return {
        id,
        status: (scheduledAt !== null && scheduledAt > now ? 'SCHEDULED' : 'QUEUED') satisfies MessageStatus,
        to_email: to!.address.value,
        to_digest: digestOf(to!),
        copy_digests: copies.length === 0 ? undefined : copies.map(digestOf),
        subject: isKept ? subject : null,
        purpose,
        topic_id: topic?.id,
        topic_key: topic?.topicKey,
        template_content_id: template?.contentId,
        template_key: template?.templateKey,
        template_version: template?.version,
        tags,
        metadata: patchedMetadata({}, metadata),
        locale,
        keep,
        track_opens: track.opens,
        track_clicks: track.clicks,
        ambiguous,
        scheduled_at: scheduledAt,
        expires_at: expiresAt,
        content: isKept ? content : null,
        sealed_content: isKept ? null : seals.seal(scope, content),
        attachments_key: fileKeys.get(id) ?? null,
        attached_bytes: files.reduce((sum, { size }) => sum + size, 0),
        request_place: place,
      };
    },
  );
  const mails = accepted.flatMap(({ id, message: { scheduledAt, locale }, origin, recipients }) =>
    recipients.map(({ address }, place) => ({
      id: place === 0 ? id : newId(),
      source_id: id,
      address: address.value,
      address_key: address.key,
      locale,
      message_id: `<${id}@${origin.sender.messageIdDomain}>`,
      next_attempt_at: scheduledAt ?? now,
      due_since: scheduledAt,
    })),
  );
  return sql<MessageView>`${named('accept_messages')}
    with given as materialized (
      select * from json_to_recordset(${JSON.stringify(messages)}::json) as g(id uuid, status text, to_email text, to_digest bytea,
        copy_digests bytea[], subject text, purpose text, topic_id uuid, topic_key text,
        template_content_id uuid, template_key text, template_version integer, tags text[], metadata jsonb, locale text, keep text, track_opens boolean,
        track_clicks boolean, ambiguous text,
        scheduled_at timestamptz, expires_at timestamptz, content jsonb, sealed_content text, attachments_key text, attached_bytes integer,
        request_place smallint)
    ), message as (
      insert into messaging.messages as m (id, environment_id, created_at, updated_at, queued_on, usage_period, status, to_email, to_digest,
        subject, purpose, topic_id, topic_key, template_content_id, template_key, template_version, tags, metadata, locale, keep, track_opens, track_clicks, ambiguous, scheduled_at, expires_at, content,
        sealed_content, attachments_key, attached_bytes, request_key, request_place)
      select g.id, ${environmentId}, ${now}, ${now}, ${day}::date, ${usagePeriod}, g.status, g.to_email, g.to_digest,
        g.subject, g.purpose, g.topic_id, g.topic_key, g.template_content_id, g.template_key, g.template_version, g.tags, g.metadata, g.locale, g.keep, g.track_opens, g.track_clicks, g.ambiguous, g.scheduled_at,
        g.expires_at, g.content, g.sealed_content, g.attachments_key, g.attached_bytes, ${request?.digest ?? null}::bytea, g.request_place
      from given g
      returning ${MESSAGE_COLUMNS}
    ), tagged as (
      insert into messaging.message_tags (environment_id, tag, created_at, message_id)
      select ${environmentId}, t.tag, ${now}, g.id from given g cross join lateral unnest(g.tags) t(tag)
      returning message_id
    ), copied as (
      insert into messaging.message_copies (environment_id, digest, created_at, message_id)
      select distinct ${environmentId}::bigint, c.digest, ${now}::timestamptz, g.id from given g cross join lateral unnest(g.copy_digests) c(digest)
      returning message_id
    ), queued as (
      insert into messaging.deliveries (id, queued_on, environment_id, kind, source_id, subscriber_id, address, address_key, locale,
        message_id, state, next_attempt_at, due_since, created_at)
      select r.id, ${day}::date, ${environmentId}, 'MESSAGE', r.source_id,
        (
          select b.id from audience.subscribers b where b.environment_id = ${environmentId} and b.email_key = r.address_key
        ), r.address, r.address_key, r.locale, r.message_id, 'PENDING', r.next_attempt_at, r.due_since, ${now}
      from json_to_recordset(${JSON.stringify(mails)}::json) as r(id uuid, source_id uuid, address text, address_key text, locale text,
        message_id text, next_attempt_at timestamptz, due_since timestamptz)
      returning id
    )
    select message.* from message where (select count(*) from queued) > 0 and (select count(*) from tagged) + (select count(*) from copied) >= 0`;
}

/** Parts of content that is a template's. */
const NO_PARTS = { subject: '', contentJson: null, text: null };

const attachedFile = ({ content, ...file }: Attachment): AttachedFile => ({ ...file, size: content.length });

export const recipientKey = ({ address: { key } }: MessageRecipient) => key;
const namedAddress = ({ address: { value }, name }: MessageRecipient) => ({ email: value, name });

function contentOf(message: NewMessage): MessageContent {
  const { to, cc, replyTo, fromName, fromEmail, subject, contentJson, text, data, headers } = message;
  return {
    to: namedAddress(to),
    cc: cc.map(namedAddress),
    replyTo,
    fromName,
    fromEmail,
    subject,
    contentJson,
    text,
    data,
    headers,
  };
}
