import { z } from 'zod';
import { PUBLISHED_EVENT_TYPES } from '#kernel';
import { int64, numberedPageQuery, pageOf, timestamp } from '#platform/http';

export const eventListQuery = numberedPageQuery({
  type: z.enum(PUBLISHED_EVENT_TYPES).optional(),
  subscriberId: z.uuid().optional().meta({ description: 'Events about this subscriber.' }),
});

const eventView = z
  .object({
    id: z.uuid().meta({ description: 'The `webhook-id` of its posts.' }),
    sequence: int64.meta({
      description:
        'Its number among the events of the project’s environment. They grow by one: none is left out, and none comes later with a smaller number.',
    }),
    type: z.enum(PUBLISHED_EVENT_TYPES),
    timestamp: timestamp.meta({ description: 'When it happened.' }),
    subscriberId: z.uuid().nullable().meta({ description: 'Whom it is about, if anybody.' }),
    data: z.record(z.string(), z.unknown()).meta({
      description: 'As it was posted; of a person who was erased the id of the subscriber alone.',
    }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Event' });
export const eventPage = pageOf(eventView, 'EventPage');
