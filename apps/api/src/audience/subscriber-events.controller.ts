import { Body, Param, Post } from '@nestjs/common';
import type { z } from 'zod';
import { SubscriberEventsService, type SubscriberRef } from '#audience';
import type { ProjectScope, RepeatableRequest } from '#kernel';
import { ApiController, Idempotent, InScope, Operation } from '#platform/http';
import { subscriberParam } from '../fields.js';
import {
  eventsBody,
  MAX_EVENTS_BYTES,
  readEvents,
  recordedEventsView,
  recordedEventView,
  recordEventBody,
  recordEventsBody,
  reportedEvent,
} from './subscriber-events.dto.js';

@ApiController('subscribers/:email/events', { tag: 'Subscribers' })
export class EventsController {
  constructor(private readonly events: SubscriberEventsService) {}

  @Post()
  @Operation({
    operationId: 'recordSubscriberEvent',
    sdk: 'subscribers.recordEvent',
    summary: 'Record what a subscriber did',
    description:
      'Segment rules can use the event, and automations can start from it. With a `uniqueId` that was reported in the last 30 days nothing is recorded, and the answer has the id of the first one.',
    scope: 'subscribers:write',
    body: recordEventBody,
    response: { status: 202, schema: recordedEventView },
  })
  async record(
    @InScope() scope: ProjectScope,
    @Idempotent() request: RepeatableRequest | null,
    @Param('email', { schema: subscriberParam }) ref: SubscriberRef,
    @Body({ schema: recordEventBody }) body: z.output<typeof recordEventBody>,
  ) {
    return { id: await this.events.record(scope, ref, reportedEvent(body), request) };
  }
}

@ApiController('subscriber-events', { tag: 'Subscribers' })
export class EventBatchesController {
  constructor(private readonly events: SubscriberEventsService) {}

  @Post('batch')
  @Operation({
    operationId: 'recordSubscriberEvents',
    sdk: 'subscribers.recordEvents',
    summary: 'Record up to 1 000 events of any subscribers',
    description:
      'Each event counts for itself: one that is not valid, or about nobody, is named in `errors` by its place, and the others are recorded. 600 requests a minute and key, counted apart from those of all other operations.',
    scope: 'subscribers:write',
    body: recordEventsBody,
    maxBodyBytes: MAX_EVENTS_BYTES,
    rateLimit: { name: 'events', perMinute: 600 },
    bulk: ['events'],
    response: { status: 202, schema: recordedEventsView },
  })
  async recordAll(
    @InScope() scope: ProjectScope,
    @Idempotent() request: RepeatableRequest | null,
    @Body({ schema: eventsBody }) { events }: z.output<typeof eventsBody>,
  ) {
    const { valid, errors } = readEvents(events);
    const { faults, ...counts } = await this.events.recordAll(
      scope,
      valid.map(({ event }) => event),
      request,
    );
    for (const [place, fields] of faults) {
      const { index } = valid[place]!;
      const named = Object.entries(fields).map(([field, fault]) => [`events[${index}].${field}`, fault]);
      errors.set(index, Object.fromEntries(named) as Record<string, string>);
    }
    const byPlace = [...errors].sort(([one], [other]) => one - other);
    return { ...counts, errors: byPlace.map(([index, of]) => ({ index, errors: of })) };
  }
}
