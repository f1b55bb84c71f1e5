import type { z } from 'zod';
import type {
  messageContentView,
  messageEventPage,
  messageView,
  rescheduleMessageBody,
  sendMessageBody,
  sendMessagesBody,
  sentMessagesView,
} from '../../messaging/messages.dto.js';
import { onePage, type WrittenExamples } from './written-example.js';

export const SENT_MESSAGE_ID = '019d3df8-aa80-7c38-9d21-6a4f8b2c7e10';

const MESSAGE = {
  id: SENT_MESSAGE_ID,
  to: 'ada@example.com',
  subject: 'Your code: {{ data.code }}',
  status: 'QUEUED',
  purpose: 'The person asked to reset their password.',
  topicKey: null,
  templateKey: null,
  templateVersion: null,
  tags: ['password-reset'],
  metadata: {},
  locale: null,
  keep: 'CONTENT',
  track: { opens: false, clicks: false },
  relayKey: null,
  failureReason: null,
  scheduledAt: null,
  expiresAt: '2026-03-30T09:30:00.000Z',
  sentAt: null,
  deliveredAt: null,
  createdAt: '2026-03-30T09:00:00.000Z',
  updatedAt: '2026-03-30T09:00:00.000Z',
} satisfies z.output<typeof messageView>;

const SENT = {
  ...MESSAGE,
  status: 'SENT',
  sentAt: '2026-03-30T09:00:00.120Z',
  updatedAt: '2026-03-30T09:00:00.120Z',
} satisfies z.output<typeof messageView>;

const EVENT = {
  bounceClass: null,
  reason: null,
  relayKey: null,
  url: null,
  linkNumber: null,
  agent: null,
} as const;
const AT = { queued: MESSAGE.createdAt, sent: SENT.sentAt };

const EVENTS = [
  {
    ...EVENT,
    id: SENT_MESSAGE_ID,
    type: 'QUEUED',
    timestamp: AT.queued,
    reply: null,
    createdAt: AT.queued,
    updatedAt: AT.queued,
  },
  {
    ...EVENT,
    id: '019d3df8-aaf8-7c38-9d21-6a4f8b2c7e11',
    type: 'ATTEMPTED',
    timestamp: AT.sent,
    reply: '250 2.0.0 OK',
    createdAt: AT.sent,
    updatedAt: AT.sent,
  },
  {
    ...EVENT,
    id: '019d3df8-aaf8-7c38-9d21-6a4f8b2c7e12',
    type: 'SENT',
    timestamp: AT.sent,
    reply: null,
    createdAt: AT.sent,
    updatedAt: AT.sent,
  },
] satisfies z.output<typeof messageEventPage>['data'];

const CONTENT = {
  subject: 'Your code: 123456',
  html: null,
  text: 'Your code is 123456. It is good for half an hour.',
  data: { code: '123456' },
  attachments: [{ filename: 'receipt.pdf', contentType: 'application/pdf', size: 48_213, contentId: null }],
} satisfies z.output<typeof messageContentView>;

const LATER = { scheduledAt: '2026-03-30T12:00:00.000Z' } satisfies z.input<typeof rescheduleMessageBody>;

const NEW_MESSAGE = {
  to: 'ada@example.com',
  purpose: MESSAGE.purpose,
  subject: MESSAGE.subject,
  text: 'Your code is {{ data.code }}. It is good for half an hour.',
  data: { code: '123456' },
  tags: MESSAGE.tags,
  expiresAt: MESSAGE.expiresAt,
} satisfies z.input<typeof sendMessageBody>;

const BATCH = {
  messages: [NEW_MESSAGE, { ...NEW_MESSAGE, to: 'grace@example.com', data: {} }],
  mode: 'EACH',
} satisfies z.input<typeof sendMessagesBody>;

const SENT_BATCH = {
  results: [
    { index: 0, message: MESSAGE },
    {
      index: 1,
      problem: {
        type: 'https://mail.example.com/problems/domain-validation',
        title: 'The project does not allow this',
        status: 422,
        detail: 'The request is well-formed, but this project does not allow it.',
        errors: { 'messages[1].data.code': 'is missing: the content shows it' },
      },
    },
  ],
} satisfies z.output<typeof sentMessagesView>;

export const MESSAGE_EXAMPLES: WrittenExamples = {
  sendMessage: {
    body: NEW_MESSAGE,
    answer: MESSAGE,
  },
  sendMessages: { body: BATCH, answer: SENT_BATCH },
  listMessages: { answer: onePage(SENT) },
  getMessage: { answer: SENT },
  listMessageEvents: { answer: onePage(...EVENTS) },
  getMessageContent: { answer: CONTENT },
  rescheduleMessage: { body: LATER, answer: { ...MESSAGE, ...LATER, status: 'SCHEDULED', expiresAt: null } },
  cancelMessage: { answer: { ...MESSAGE, status: 'CANCELLED' } },
};
