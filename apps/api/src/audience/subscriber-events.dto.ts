import { z } from 'zod';
import type { BatchedEvent, ReportedEvent } from '#audience';
import { emailField, readInput, strictBody, uuid } from '#platform/http';
import { jsonObject, line } from '../fields.js';
import { externalId } from './subscribers.dto.js';

const MAX_PROPERTIES_BYTES = 8 * 1024;

const occurredAt = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .meta({ description: 'Default: now. At most 730 days ago.' });

const properties = jsonObject(MAX_PROPERTIES_BYTES).meta({
  description: 'Properties of the event, at most 8 KB of JSON.',
  example: { plan: 'pro' },
});

const uniqueId = line(128).min(1).meta({
  description:
    'Your own id of the event, up to 128 characters: for 30 days the same one counts once in the environment, whoever it is about.',
  example: 'order-7',
});

const eventFields = {
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9_.]{0,63}$/,
      'must be 1 to 64 lower-case letters, digits, _ and ., and must start with a letter',
    )
    .meta({ example: 'order.completed' }),
  properties: properties.nullish(),
  occurredAt: occurredAt.nullish(),
  uniqueId: uniqueId.nullish(),
};

export const recordEventBody = strictBody(eventFields).meta({ id: 'RecordSubscriberEvent' });

export const recordedEventView = z.object({ id: uuid }).meta({ id: 'RecordedSubscriberEvent' });

const MAX_EVENTS = 1_000;
/** As many events with as many properties as there may be, and what JSON writes around them. */
export const MAX_EVENTS_BYTES = 10 * 1024 * 1024;

const batchedEvent = strictBody({
  email: emailField.nullish().meta({ description: 'The person, or `externalId`: one of the two.' }),
  externalId: externalId.nullish().meta({ description: 'Your own id of the person, instead of `email`.' }),
  ...eventFields,
}).meta({ id: 'BatchedSubscriberEvent' });

/** For the document. Requests are read by `eventsBody`: an event that is not valid does not keep the others. */
export const recordEventsBody = strictBody({
  events: z.array(batchedEvent).min(1).max(MAX_EVENTS),
}).meta({ id: 'RecordSubscriberEvents' });

export const eventsBody = strictBody({ events: z.array(z.unknown()).min(1).max(MAX_EVENTS) });

/** The valid ones of the events of a batch with their places in it, and the errors of the others by place. */
export function readEvents(events: readonly unknown[]) {
  const valid: { readonly index: number; readonly event: BatchedEvent }[] = [];
  const errors = new Map<number, Readonly<Record<string, string>>>();
  for (const [index, input] of events.entries()) {
    const read = readInput(batchedEvent, input, `events[${index}]`);
    if ('errors' in read) {
      errors.set(index, read.errors);
      continue;
    }
    const { email, externalId: ownId, ...event } = read.data;
    if (email != null && ownId != null)
      errors.set(index, { [`events[${index}].externalId`]: 'must not be used together with email' });
    else if (email != null) valid.push({ index, event: { address: email, ...reportedEvent(event) } });
    else if (ownId != null) valid.push({ index, event: { externalId: ownId, ...reportedEvent(event) } });
    else errors.set(index, { [`events[${index}].email`]: 'is required where there is no externalId' });
  }
  return { valid, errors };
}

/** The event as it is reported: null stands for what was left out. */
export function reportedEvent({
  name: ofEvent,
  properties: given,
  occurredAt: at,
  uniqueId: ownId,
}: z.output<typeof recordEventBody>): ReportedEvent {
  return {
    name: ofEvent,
    properties: given ?? undefined,
    occurredAt: at ?? undefined,
    uniqueId: ownId ?? undefined,
  };
}

export const recordedEventsView = z
  .object({
    accepted: z.int().meta({ description: 'Events that were recorded.' }),
    repeated: z
      .int()
      .meta({ description: 'Events that were not recorded again, since their `uniqueId` was known.' }),
    errors: z
      .array(
        z.object({
          index: z.int().meta({ description: 'The place of the event in `events`, which begins with 0.' }),
          errors: z
            .record(z.string(), z.string())
            .meta({ description: 'Messages by field path, such as `events[3].properties`.' }),
        }),
      )
      .meta({ description: 'Events that were not recorded, by their place.' }),
  })
  .meta({ id: 'RecordedSubscriberEvents' });
