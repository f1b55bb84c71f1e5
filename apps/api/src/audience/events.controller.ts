import { Body, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { SubscriberEventsService } from '#audience';
import type { EmailAddress, ProjectScope } from '#kernel';
import { ApiController, emailParam, InScope, Operation } from '#platform/http';
import { recordedEventView, recordEventBody } from './events.dto.js';

@ApiController('subscribers/:email/events', { tag: 'Subscribers' })
export class EventsController {
  constructor(private readonly events: SubscriberEventsService) {}

  @Post()
  @Operation({
    operationId: 'recordSubscriberEvent',
    summary: 'Record what a subscriber did',
    description: 'Segment rules can use the event, and automations can start from it.',
    scope: 'subscribers:write',
    body: recordEventBody,
    response: { status: 202, schema: recordedEventView },
  })
  async record(
    @InScope() scope: ProjectScope,
    @Param('email', { schema: emailParam }) address: EmailAddress,
    @Body({ schema: recordEventBody }) body: z.output<typeof recordEventBody>,
  ): Promise<z.output<typeof recordedEventView>> {
    const { name, properties, occurredAt } = body;
    const id = await this.events.record(scope, address, {
      name,
      properties: properties ?? undefined,
      occurredAt: occurredAt ?? undefined,
    });
    return { id };
  }
}
