import { Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { SubscriberRef } from '#audience';
import { NotFoundError, type ProjectScope } from '#kernel';
import { PersonActivityQuery, PersonExportService } from '#messaging';
import { type Answer, ApiController, InScope, Operation, streamedJson, toPage } from '#platform/http';
import { subscriberParam } from '../fields.js';
import { activityListQuery, activityPage, personExportView } from './person.dto.js';

/** One subscriber as all contexts know them. */
@ApiController('subscribers/:email', { tag: 'Subscribers' })
export class PersonController {
  constructor(
    private readonly activities: PersonActivityQuery,
    private readonly exports: PersonExportService,
  ) {}

  @Get('activity')
  @Operation({
    operationId: 'listSubscriberActivity',
    sdk: 'subscribers.activity',
    summary: 'List what happened to a subscriber, newest first',
    description:
      'Changes of consents and fields, mails, opens and clicks of people (not of proxies and scanners), events, runs of automations. Types that ' +
      'webhooks have, too, mean the same here.',
    scope: 'subscribers:read',
    query: activityListQuery,
    response: { status: 200, schema: activityPage },
  })
  async activity(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Query({ schema: activityListQuery }) query: z.output<typeof activityListQuery>,
  ) {
    const page = await this.activities.page(scope, ref, query);
    const items = page.items.map((item) => ({
      ...item,
      createdAt: item.timestamp,
      updatedAt: item.timestamp,
    }));
    // The query makes the data of each type, which the tests hold against the schema.
    return toPage(query, { ...page, items: items as unknown as Answer<typeof activityPage>['data'] });
  }

  @Get('export')
  @Operation({
    operationId: 'exportSubscriber',
    sdk: 'subscribers.export',
    summary: 'Export everything that is held about a person',
    description:
      'One JSON document for a request under GDPR Art. 15 or 20: all rows of all tables with the person’s id or address, lists ' +
      'oldest first. It is streamed, however long it is; an answer that breaks off is no valid JSON.',
    scope: 'subscribers:read',
    response: { status: 200, streamed: personExportView },
  })
  async export(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Req() { query }: FastifyRequest,
    @Res({ passthrough: true }) reply: FastifyReply,
  ) {
    const held = await this.exports.of(scope, ref);
    if (held.subscriber === null) throw new NotFoundError();
    const document = streamedJson(personExportView, held, query);
    reply
      .type('application/json; charset=utf-8')
      .header(
        'content-disposition',
        `attachment; filename="subscriber-${String(held.subscriber['id'])}.json"`,
      );
    return document;
  }
}
