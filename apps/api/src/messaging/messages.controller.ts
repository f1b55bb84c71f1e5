import { Body, Get, Inject, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope, RepeatableRequest } from '#kernel';
import {
  MessageAcceptanceService,
  MessageEventsQuery,
  MessageRenderingService,
  MessagesQuery,
  MessagesService,
} from '#messaging';
import { type Config, CONFIG } from '#platform';
import { ApiController, Idempotent, InScope, Operation, partProblem, toPage } from '#platform/http';
import { addressKey } from '../fields.js';
import {
  ATTACHED_CONTENT,
  MAX_BATCH_BYTES,
  MAX_MESSAGE_BYTES,
  messageContentView,
  messageEventListQuery,
  messageEventPage,
  messageListQuery,
  messageOf,
  messagePage,
  messagesBody,
  messagesIn,
  messageView,
  readMessages,
  rescheduleMessageBody,
  sendMessageBody,
  sendMessagesBody,
  sentMessagesView,
} from './messages.dto.js';

const LIMIT = { name: 'messages', perMinute: 600 };

@ApiController('messages', { tag: 'Messages' })
export class MessagesController {
  constructor(
    private readonly acceptance: MessageAcceptanceService,
    private readonly messages: MessagesService,
    private readonly query: MessagesQuery,
    private readonly events: MessageEventsQuery,
    private readonly rendering: MessageRenderingService,
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL'>,
  ) {}

  @Post()
  @Operation({
    operationId: 'sendMessage',
    sdk: 'messages.send',
    summary: 'Send a message to one person',
    description:
      'A receipt, a password, an alert: mail that a person expects without having subscribed. It is accepted or refused as a whole, ' +
      'and on its way at once, never behind a campaign. Mail of a test key goes to the test inbox. 600 a minute and key, counted ' +
      'apart from all other operations.',
    scope: 'messages:send',
    body: sendMessageBody,
    maxBodyBytes: MAX_MESSAGE_BYTES,
    largeTexts: ATTACHED_CONTENT,
    rateLimit: LIMIT,
    response: { status: 202, schema: messageView, location: ({ id }) => `messages/${id}` },
    problems: [409],
  })
  send(
    @InScope() scope: ProjectScope,
    @Body({ schema: sendMessageBody }) body: z.output<typeof sendMessageBody>,
    @Idempotent() request: RepeatableRequest | null,
  ) {
    return this.acceptance.send(scope, messageOf(body), request);
  }

  @Post('batch')
  @Operation({
    operationId: 'sendMessages',
    sdk: 'messages.sendBatch',
    summary: 'Send up to 100 messages',
    description:
      'With `mode` `ALL` they are accepted as a whole, or, with one fault, not at all: `errors` names each fault of each message, such as ' +
      '`messages[3].to`. With `EACH` each is accepted or refused by itself, as by `POST /messages`: the answer is 200, and has a message ' +
      'or a problem for each. They count as so many messages for the limit of 600 a minute and key; a batch that does not fit is refused ' +
      'with 429, and counts.',
    scope: 'messages:send',
    body: sendMessagesBody,
    maxBodyBytes: MAX_BATCH_BYTES,
    largeTexts: ATTACHED_CONTENT,
    rateLimit: { ...LIMIT, countOf: messagesIn },
    bulk: ['messages'],
    response: {
      status: 202,
      schema: sentMessagesView,
      isPartial: (made) => (made as { readonly mode: string }).mode === 'EACH',
    },
    problems: [409],
  })
  async sendBatch(
    @InScope() scope: ProjectScope,
    @Body({ schema: messagesBody }) { messages, mode }: z.output<typeof messagesBody>,
    @Idempotent() request: RepeatableRequest | null,
  ) {
    const outcomes = await this.acceptance.sendBatch(scope, readMessages(messages), mode, request);
    const results = outcomes.map((outcome, index) =>
      outcome instanceof Error
        ? { index, problem: partProblem(outcome, this.config) }
        : { index, message: outcome },
    );
    return { results, mode };
  }

  @Get()
  @Operation({
    operationId: 'listMessages',
    sdk: 'messages.all',
    summary: 'List messages, newest first',
    scope: 'messages:read',
    query: messageListQuery,
    response: { status: 200, schema: messagePage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: messageListQuery }) query: z.output<typeof messageListQuery>,
  ) {
    const { to, status, tag, templateKey, createdAfter } = query;
    const toKey = to === undefined ? undefined : addressKey(to);
    return toPage(
      query,
      await this.query.list(scope, query, { toKey, status, tag, templateKey, createdAfter }),
    );
  }

  @Get(':id')
  @Operation({
    operationId: 'getMessage',
    sdk: 'messages.get',
    summary: 'Get a message',
    scope: 'messages:read',
    response: { status: 200, schema: messageView },
  })
  get(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.query.get(scope, id);
  }

  @Get(':id/events')
  @Operation({
    operationId: 'listMessageEvents',
    sdk: 'messages.events',
    summary: 'List what became of a message, oldest first',
    description:
      'Of the mail to `to`: each attempt with the reply of the mail server, its end, what came back, opens and clicks of people.',
    scope: 'messages:read',
    query: messageEventListQuery,
    response: { status: 200, schema: messageEventPage },
  })
  async eventsOf(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Query({ schema: messageEventListQuery }) query: z.output<typeof messageEventListQuery>,
  ) {
    const page = await this.events.page(scope, id, query);
    const items = page.items.map((event) => ({
      ...event,
      createdAt: event.timestamp,
      updatedAt: event.timestamp,
    }));
    return toPage(query, { ...page, items });
  }

  @Get(':id/content')
  @Operation({
    operationId: 'getMessageContent',
    sdk: 'messages.content',
    summary: 'Get the content of a message, filled in',
    description:
      'Subject, HTML and text with the message’s data, for as long as they are kept: 404 afterwards, and where nothing is kept. Fields of a ' +
      'subscriber are as they are today.',
    scope: 'messages:read',
    response: { status: 200, schema: messageContentView },
  })
  content(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.rendering.show(scope, id);
  }

  @Patch(':id')
  @Operation({
    operationId: 'rescheduleMessage',
    sdk: 'messages.reschedule',
    summary: 'Send a message at another time',
    description: 'Until a sender has taken it; then 409.',
    scope: 'messages:send',
    body: rescheduleMessageBody,
    response: { status: 200, schema: messageView },
    problems: [409],
  })
  reschedule(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Body({ schema: rescheduleMessageBody }) { scheduledAt }: z.output<typeof rescheduleMessageBody>,
  ) {
    if (scheduledAt === undefined) return this.query.get(scope, id);
    return this.messages.reschedule(scope, id, scheduledAt);
  }

  @Post(':id/cancel')
  @Operation({
    operationId: 'cancelMessage',
    sdk: 'messages.cancel',
    summary: 'Cancel a message',
    description: 'Until a sender has taken it; then 409. What is cancelled is never sent.',
    scope: 'messages:send',
    response: { status: 200, schema: messageView },
    problems: [409],
  })
  cancel(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.messages.cancel(scope, id);
  }
}
