import { Get, Query } from '@nestjs/common';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { ApiController, InScope, Operation, toNumberedPage } from '#platform/http';
import { EventLogQuery } from '#webhooks';
import { eventListQuery, eventPage } from './events.dto.js';

@ApiController('events', { tag: 'Webhooks' })
export class EventsController {
  constructor(private readonly events: EventLogQuery) {}

  @Get()
  @Operation({
    operationId: 'listEvents',
    sdk: 'events.list',
    summary: 'List the events that webhooks tell of',
    description:
      'Those to which an endpoint of the project listened, for 30 days. The newest first; with `after` those behind that ' +
      'number in their order, so that a receiver that was down goes on from the last `sequence` that it has and misses none. ' +
      'With `after` and another filter, `totalElements` counts at most 1 000 of them.',
    scope: 'webhooks:read',
    query: eventListQuery,
    response: { status: 200, schema: eventPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: eventListQuery }) query: z.output<typeof eventListQuery>,
  ) {
    return toNumberedPage(query, await this.events.list(scope, query));
  }
}
