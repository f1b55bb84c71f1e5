import { Delete, Get, Param, Query, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { TestInboxService } from '#messaging';
import { ApiController, InScope, Operation, toPage } from '#platform/http';
import { addressKey } from '../fields.js';
import { openedTestInboxMessageView, testInboxListQuery, testInboxPage } from './test-inbox.dto.js';

const RAW = 'message/rfc822';

@ApiController('test-inbox/messages', { tag: 'Test inbox' })
export class TestInboxController {
  constructor(private readonly inbox: TestInboxService) {}

  @Get()
  @Operation({
    operationId: 'listTestInboxMessages',
    sdk: 'testInbox.all',
    summary: 'List mail of the test environment, newest first',
    description:
      'Mail of the test environment is never delivered: the newest 10 000 are kept here for 30 days. Test keys only.',
    scope: 'campaigns:read',
    query: testInboxListQuery,
    response: { status: 200, schema: testInboxPage },
    problems: [404],
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: testInboxListQuery }) query: z.output<typeof testInboxListQuery>,
  ) {
    const filter = { kind: query.kind, toKey: query.to === undefined ? undefined : addressKey(query.to) };
    return toPage(query, await this.inbox.list(scope, query, filter));
  }

  @Get(':id')
  @Operation({
    operationId: 'getTestInboxMessage',
    sdk: 'testInbox.get',
    summary: 'Get a mail of the test inbox',
    scope: 'campaigns:read',
    response: { status: 200, schema: openedTestInboxMessageView },
  })
  open(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.inbox.open(scope, id);
  }

  @Get(':id/raw')
  @Operation({
    operationId: 'getRawTestInboxMessage',
    sdk: 'testInbox.raw',
    summary: 'Get the source of a mail of the test inbox',
    scope: 'campaigns:read',
    response: { status: 200, contentType: RAW },
  })
  async raw(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const raw = await this.inbox.raw(scope, id);
    reply.type(RAW);
    return raw;
  }

  @Delete()
  @Operation({
    operationId: 'clearTestInbox',
    sdk: 'testInbox.clear',
    summary: 'Empty the test inbox',
    scope: 'campaigns:write',
    response: { status: 204 },
    problems: [404],
  })
  async clear(@InScope() scope: ProjectScope) {
    await this.inbox.clear(scope);
  }
}
