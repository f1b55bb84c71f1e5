import { Body, Delete, Get, Param, Patch, Post, Query } from '@nestjs/common';
import type { z } from 'zod';
import { TopicsService, TopicsQuery } from '#audience';
import type { ProjectScope } from '#kernel';
import { ApiController, type AuthenticatedCaller, Caller, InScope, Operation, toPage } from '#platform/http';
import { createTopicBody, topicListQuery, topicPage, topicView, updateTopicBody } from './topics.dto.js';

@ApiController('topics', { tag: 'Topics' })
export class TopicsController {
  constructor(
    private readonly topics: TopicsService,
    private readonly query: TopicsQuery,
  ) {}

  @Get()
  @Operation({
    operationId: 'listTopics',
    sdk: 'topics.all',
    summary: 'List topics, newest first',
    scope: 'topics:read',
    query: topicListQuery,
    response: { status: 200, schema: topicPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: topicListQuery }) query: z.output<typeof topicListQuery>,
  ) {
    return toPage(query, await this.query.page(scope, query, query));
  }

  @Post()
  @Operation({
    operationId: 'createTopic',
    sdk: 'topics.create',
    summary: 'Create a topic',
    scope: 'topics:write',
    body: createTopicBody,
    response: { status: 201, schema: topicView, location: ({ topicKey }) => `topics/${topicKey}` },
  })
  create(
    @InScope() scope: ProjectScope,
    @Body({ schema: createTopicBody }) body: z.output<typeof createTopicBody>,
  ) {
    return this.topics.create(scope, body);
  }

  @Get(':topicKey')
  @Operation({
    operationId: 'getTopic',
    sdk: 'topics.get',
    summary: 'Get a topic',
    scope: 'topics:read',
    response: { status: 200, schema: topicView },
  })
  get(@InScope() scope: ProjectScope, @Param('topicKey') topicKey: string) {
    return this.query.byKey(scope, topicKey);
  }

  @Patch(':topicKey')
  @Operation({
    operationId: 'updateTopic',
    sdk: 'topics.update',
    summary: 'Change a topic',
    description:
      'JSON merge-patch (RFC 7396). A change of doubleOptInEnabled applies to consents granted after it. The status cannot change while a campaign that is scheduled or under way or an active automation uses the topic: 409 in-use.',
    scope: 'topics:write',
    body: updateTopicBody,
    response: { status: 200, schema: topicView },
    problems: [409],
  })
  update(
    @InScope() scope: ProjectScope,
    @Param('topicKey') topicKey: string,
    @Body({ schema: updateTopicBody }) body: z.output<typeof updateTopicBody>,
  ) {
    return this.topics.update(scope, topicKey, body);
  }

  @Delete(':topicKey')
  @Operation({
    operationId: 'deleteTopic',
    sdk: 'topics.delete',
    summary: 'Delete a topic',
    description: 'Revokes and removes its consents. The consent record and the mail that was sent stay.',
    scope: 'topics:write',
    response: { status: 204 },
    problems: [409],
  })
  async delete(@Caller() { scope, keyId }: AuthenticatedCaller, @Param('topicKey') topicKey: string) {
    await this.topics.delete(scope, topicKey, keyId);
  }
}
