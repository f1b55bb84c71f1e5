import { z } from 'zod';
import { DomainValidationError, LargeText } from '#kernel';
import {
  BATCH_MODES,
  KEPT_CONTENT,
  MESSAGE_EVENT_TYPES,
  MESSAGE_STATUSES,
  type MessageRecipient,
  MOST_ATTACHMENTS,
  type NewMessage,
} from '#messaging';
import { emailField, pageOf, pageQuery, readInput, strictBody, timestamp } from '#platform/http';
import {
  addressField,
  defaulted,
  isObject,
  jsonObject,
  line,
  localeField,
  metadataField,
  metadataView,
  moment,
  partProblemView,
  prose,
  requiredLine,
} from '../fields.js';
import { contentForms, hasOneForm, withContentJson } from './content.dto.js';

const MAX_CONTENT = 500_000;
const MAX_DATA_BYTES = 256 * 1024;
/** Files of 10 MB in base64, and content and data of usual sizes. */
export const MAX_MESSAGE_BYTES = 15 * 1024 * 1024;
/** A batch's body. */
export const MAX_BATCH_BYTES = 50 * 1024 * 1024;
/** Files, which are not parsed with the rest of a body. */
export const ATTACHED_CONTENT = {
  member: 'content',
  at: /^(?:messages\[\d+\]\.)?attachments\[\d+\]\.content$/,
};
const MAX_COPIES = 10;
const MAX_BATCH = 100;

const recipient = z
  .union([emailField, strictBody({ email: emailField, name: line(100).nullish() })], {
    error: ({ input }) =>
      input === undefined ? 'is required' : 'must be an e-mail address, or an object with email and name',
  })
  .transform((given): MessageRecipient =>
    'key' in given ? { address: given, name: null } : { address: given.email, name: given.name || null },
  );
const copies = z.array(recipient).max(MAX_COPIES).nullish();
const tag = z
  .string()
  .regex(/^[A-Za-z0-9_-]{1,64}$/, 'must be 1 to 64 letters, digits, _ and -')
  .meta({ example: 'password-reset' });

const attachment = strictBody({
  filename: z.string().meta({
    description: '1 to 255 characters, without a path. Programs are refused.',
    example: 'receipt.pdf',
  }),
  contentType: z.string().meta({
    description: 'With parameters, such as the `method` of a calendar.',
    example: 'application/pdf',
  }),
  // JSON Schema knows no text that comes in parts.
  content: z
    .custom<string | LargeText | null>(
      (value) => value === null || typeof value === 'string' || value instanceof LargeText,
      'must be a string',
    )
    .optional()
    .meta({ type: ['string', 'null'], description: 'The file in base64.', example: 'JVBERi0xLjQK' }),
  mediaId: z
    .uuid()
    .nullish()
    .meta({ description: 'An image of `/media`, in place of `content`; `contentType` is its own.' }),
  contentId: z
    .string()
    .nullish()
    .meta({ description: 'The name by which the content shows it as an image: `cid:…`.' }),
}).transform(({ content, mediaId, contentId, ...file }) => ({
  ...file,
  content: content ?? undefined,
  mediaId: mediaId ?? undefined,
  contentId: contentId ?? undefined,
}));

const RECIPIENTS = new Set(['to', 'cc', 'bcc']);

/** Check of a body, beside faults of its fields too: with a template or content of its own it says all that a message needs. */
function hasAllOfContent(
  given: {
    readonly purpose?: unknown;
    readonly templateKey?: unknown;
    readonly templateVersion?: unknown;
    readonly subject?: unknown;
    readonly contentJson?: unknown;
    readonly html?: unknown;
    readonly mjml?: unknown;
    readonly text?: unknown;
  },
  context: z.core.$RefinementCtx,
): void {
  if (given.templateKey != null) return;
  const fault = (field: string, message: string) =>
    context.addIssue({ code: 'custom', path: [field], message });
  if (given.templateVersion != null) fault('templateVersion', 'needs templateKey');
  for (const field of ['purpose', 'subject'] as const) if (given[field] == null) fault(field, 'is required');
  const { text } = given;
  const hasText = typeof text === 'string' ? text.trim() !== '' : text != null;
  if (!hasText && (given.contentJson ?? given.html ?? given.mjml) == null)
    fault('text', 'is required where there is no contentJson, html or mjml');
}

/** Check of a body: no address gets two mails, no more copies than allowed, none of a notification. */
function hasDistinctRecipients(
  {
    to,
    cc,
    bcc,
    topicKey,
  }: {
    readonly to: MessageRecipient;
    readonly cc?: readonly MessageRecipient[] | null | undefined;
    readonly bcc?: readonly MessageRecipient[] | null | undefined;
    readonly topicKey?: string | null | undefined;
  },
  context: z.core.$RefinementCtx,
): void {
  const fault = (path: (string | number)[], message: string) =>
    context.addIssue({ code: 'custom', path, message });
  if ((cc?.length ?? 0) + (bcc?.length ?? 0) > MAX_COPIES)
    fault(['bcc'], `must be at most ${MAX_COPIES} together with cc`);
  const known = new Set([to.address.key]);
  for (const [field, list] of Object.entries({ cc: cc ?? [], bcc: bcc ?? [] })) {
    if (topicKey != null && list.length > 0)
      fault([field], 'must be empty with topicKey: only the reader in to may leave the topic');
    for (const [index, { address }] of list.entries()) {
      if (known.has(address.key)) fault([field, index], 'is a recipient already');
      known.add(address.key);
    }
  }
}

export const sendMessageBody = strictBody({
  to: recipient.meta({
    description: 'The address, or `{"email","name"}`. Nobody has to be a subscriber.',
    example: 'ada@example.com',
  }),
  cc: copies.meta({
    description: `With \`bcc\` at most ${MAX_COPIES}. Each recipient gets a mail of their own.`,
  }),
  bcc: copies.meta({ description: 'Recipients that no header names.' }),
  purpose: requiredLine(200)
    .nullish()
    .meta({
      description:
        'Why it may be sent without consent: a contract, a request of the person. Shown to you, not in the mail. Required unless the ' +
        'template has one.',
      example: 'The person asked to reset their password.',
    }),
  topicKey: z
    .string()
    .nullish()
    .meta({
      description:
        'Topic of a notification: mail that its reader may leave. It goes to who is subscribed to the topic (else 409 ' +
        '`not-subscribed`), without copies, with a footer and one-click unsubscribe.',
      example: 'NEWS-1',
    }),
  templateKey: requiredLine(100).nullish().meta({
    description: 'Key or alias of a template of kind MESSAGE that subject and content are from, in `locale`.',
  }),
  templateVersion: z
    .int()
    .min(1)
    .nullish()
    .meta({ description: 'A version of the template that was published. Default: the one in use.' }),
  subject: requiredLine(500).nullish().meta({
    description: 'With merge tags. Required without `templateKey`.',
    example: 'Your code: {{ data.code }}',
  }),
  ...contentForms,
  text: prose(MAX_CONTENT)
    .nullish()
    .meta({ description: 'The text part, with merge tags.', example: 'Code: {{ data.code }}' }),
  data: jsonObject(MAX_DATA_BYTES)
    .nullish()
    .meta({
      description:
        'Values for `{{ data.… }}`, at most 256 KB of JSON. What the content shows without `| default` must be there.',
      example: { code: '123456' },
    }),
  from: z
    .union([addressField, strictBody({ email: addressField, name: line(100).nullish() })])
    .transform((given) =>
      typeof given === 'string'
        ? { email: given, name: null }
        : { email: given.email, name: given.name ?? null },
    )
    .nullish()
    .meta({ description: 'The sender, at a verified sending domain. Default: the project’s.' }),
  replyTo: z
    .union([addressField, z.array(addressField).max(5)], {
      error: 'must be an address, or a list of at most 5',
    })
    .nullish()
    .meta({ description: 'Where answers go: an address, or up to five. Default: the project’s.' }),
  headers: z
    .record(z.string(), z.string())
    .nullish()
    .meta({
      description: '`X-…`, `References` and `In-Reply-To`, at most 20; they may show `{{ data.… }}`.',
      example: { 'X-Order': '{{ data.order }}' },
    }),
  attachments: z
    .array(attachment)
    .max(MOST_ATTACHMENTS)
    .nullish()
    .meta({
      description: `At most ${MOST_ATTACHMENTS} files, together 10 MB decoded. They are deleted once each recipient’s mail has ended.`,
    }),
  tags: z.array(tag).max(10).nullish(),
  metadata: metadataField,
  locale: localeField.nullish(),
  scheduledAt: moment
    .nullish()
    .meta({ description: 'When it is to be sent: at most 30 days ahead. Default: now.' }),
  expiresAt: moment.nullish().meta({ description: 'Not sent after this: it is EXPIRED then.' }),
  keep: defaulted(
    z.enum(KEPT_CONTENT),
    'CONTENT',
    'What stays once it has ended: `CONTENT`, or `NOTHING` of subject, content and data, which are encrypted until then.',
  ),
  track: strictBody({
    opens: defaulted(z.boolean(), false, 'A pixel in the mail to `to`.'),
    clicks: defaulted(
      z.boolean(),
      false,
      'Links of the mail to `to` lead past us. Not with `keep` `NOTHING`.',
    ),
  })
    .nullish()
    .meta({
      description:
        'Opens and clicks to record, of the mail to `to`; copies are never tracked. It needs HTML. Default: neither.',
    }),
  ambiguous: defaulted(
    z.enum(['RESEND', 'HOLD']),
    'RESEND',
    'When a mail server took the mail and the answer was lost: `RESEND` sends it once more, `HOLD` lets it be FAILED.',
  ),
})
  .superRefine(hasOneForm)
  .superRefine(hasAllOfContent, { when: ({ value }) => isObject(value) })
  .superRefine(hasDistinctRecipients, {
    // One that is at fault has no key yet.
    when: ({ value, issues }) =>
      isObject(value) && !issues.some(({ path }) => RECIPIENTS.has(String(path?.[0]))),
  })
  .meta({ id: 'SendMessage' });

/** Content that a template would have, as it is given. */
const OWN_CONTENT = ['subject', 'contentJson', 'html', 'mjml', 'text'] as const;

export function messageOf(body: z.output<typeof sendMessageBody>): NewMessage {
  const { to, cc, bcc, purpose, subject, contentJson, text, data, from, replyTo, tags, metadata, locale } =
    withContentJson(body);
  return {
    to,
    topicKey: body.topicKey ?? null,
    template:
      body.templateKey == null
        ? undefined
        : {
            key: body.templateKey,
            version: body.templateVersion ?? null,
            besides: OWN_CONTENT.filter((field) => body[field] != null),
          },
    cc: cc ?? [],
    bcc: bcc ?? [],
    attachments: body.attachments ?? undefined,
    purpose: purpose ?? null,
    subject: subject ?? '',
    contentJson: contentJson ?? null,
    text: text ?? null,
    data: data ?? {},
    headers: body.headers ?? {},
    fromName: from?.name ?? null,
    fromEmail: from?.email ?? null,
    replyTo: replyTo == null ? [] : [replyTo].flat(),
    tags: [...new Set(tags ?? [])],
    metadata,
    locale: locale ?? null,
    scheduledAt: body.scheduledAt ?? null,
    expiresAt: body.expiresAt ?? null,
    keep: body.keep,
    track: body.track ?? { opens: false, clicks: false },
    ambiguous: body.ambiguous,
  };
}

const batchMode = defaulted(
  z.enum(BATCH_MODES),
  'ALL',
  '`ALL`: as a whole or, with one fault, not at all. `EACH`: each by itself.',
);

/** For the document. Requests are read by `messagesBody`: the faults of a message are named beside those that the project's data shows. */
export const sendMessagesBody = strictBody({
  messages: z.array(sendMessageBody).min(1).max(MAX_BATCH),
  mode: batchMode,
}).meta({ id: 'SendMessages' });

export const messagesBody = strictBody({
  messages: z.array(z.unknown()).min(1).max(MAX_BATCH),
  mode: batchMode,
});

/** The number of messages of a body that may be anything, as the limit counts it. */
export function messagesIn(body: unknown): number {
  const messages = (body as { readonly messages?: unknown } | null | undefined)?.messages;
  return Array.isArray(messages) ? Math.max(1, Math.min(messages.length, MAX_BATCH)) : 1;
}

/** The messages of a batch, or what is wrong with the form of one. */
export function readMessages(messages: readonly unknown[]): (NewMessage | DomainValidationError)[] {
  return messages.map((input, index) => {
    const read = readInput(sendMessageBody, input, `messages[${index}]`);
    return 'errors' in read
      ? new DomainValidationError(read.errors, 'One or more fields are not valid.')
      : messageOf(read.data);
  });
}

export const rescheduleMessageBody = strictBody({
  scheduledAt: moment.optional().meta({ description: 'At most 30 days ahead; in the past: now.' }),
}).meta({ id: 'RescheduleMessage' });

export const messageListQuery = pageQuery({
  to: line(320).optional().meta({ description: 'Only messages to this address.' }),
  status: z.enum(MESSAGE_STATUSES).optional(),
  tag: line(64).optional(),
  templateKey: line(100).optional().meta({ description: 'Only messages of this template, by key or alias.' }),
  createdAfter: moment.optional(),
});

export const messageView = z
  .object({
    id: z.uuid(),
    to: z.string(),
    subject: z.string().nullable().meta({ description: 'As it was given. Null where nothing is kept.' }),
    status: z.enum(MESSAGE_STATUSES).meta({
      description:
        'Of the mail to `to`. SENT: a mail server took it. DELIVERED only where a provider tells so. EXPIRED and SUPPRESSED: it was not sent.',
    }),
    purpose: z.string(),
    topicKey: z
      .string()
      .nullable()
      .meta({ description: 'Of a notification; null for mail that needs no consent.' }),
    templateKey: z.string().nullable(),
    templateVersion: z.int().nullable(),
    tags: z.array(z.string()),
    metadata: metadataView,
    locale: z.string().nullable(),
    keep: z.enum(KEPT_CONTENT),
    track: z.object({ opens: z.boolean(), clicks: z.boolean() }),
    relayKey: z.string().nullable(),
    failureReason: z.string().nullable(),
    scheduledAt: timestamp.nullable(),
    expiresAt: timestamp.nullable(),
    sentAt: timestamp.nullable(),
    deliveredAt: timestamp.nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Message' });

export const messagePage = pageOf(messageView, 'MessagePage');

const messageProblem = partProblemView('messages[3].to')
  .extend({
    recipients: z
      .record(z.string(), z.string())
      .optional()
      .meta({ description: 'Recipients who may not get it, by path, such as `messages[3].cc[0]`, and why.' }),
  })
  .meta({ id: 'MessageProblem' });

export const sentMessagesView = z
  .object({
    results: z
      .array(
        z.object({
          index: z.int().meta({ description: 'The place in `messages`, which begins with 0.' }),
          message: messageView.optional().meta({ description: 'The message, if it was accepted.' }),
          problem: messageProblem.optional().meta({ description: 'Why it was not.' }),
        }),
      )
      .meta({ description: 'A result for each message, in order.' }),
  })
  .meta({ id: 'SentMessages' });

export const messageEventListQuery = pageQuery({});

const messageEventView = z
  .object({
    id: z.uuid(),
    type: z.enum(MESSAGE_EVENT_TYPES).meta({
      description:
        'ATTEMPTED: a mail server was asked to take it. SENT: it did. DELIVERED only where a provider tells so.',
    }),
    timestamp,
    reply: z.string().nullable().meta({
      description: 'Of ATTEMPTED: what the mail server said, or why it said nothing.',
      example: '250 2.0.0 OK',
    }),
    bounceClass: z.string().nullable().meta({ description: 'Of BOUNCED.' }),
    reason: z.string().nullable().meta({ description: 'Of FAILED, EXPIRED and SUPPRESSED.' }),
    relayKey: z.string().nullable().meta({ description: 'Null: the installation’s relay, or none.' }),
    url: z.string().nullable().meta({ description: 'Of CLICKED: the link as it was written.' }),
    linkNumber: z.int().nullable().meta({ description: 'Of CLICKED: its place in the mail.' }),
    agent: z.string().nullable().meta({ description: 'Of OPENED and CLICKED: the kind of program.' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'MessageEvent' });

export const messageEventPage = pageOf(messageEventView, 'MessageEventPage');

export const messageContentView = z
  .object({
    subject: z.string(),
    html: z.string().nullable().meta({ description: 'Null for a message of text alone.' }),
    text: z.string(),
    data: z.record(z.string(), z.unknown()),
    attachments: z
      .array(
        z.object({
          filename: z.string(),
          contentType: z.string(),
          size: z.int().meta({ description: 'Bytes.' }),
          contentId: z.string().nullable(),
        }),
      )
      .meta({ description: 'Its files, which themselves are deleted once each recipient’s mail has ended.' }),
  })
  .meta({ id: 'MessageContent' });
