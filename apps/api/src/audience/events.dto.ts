import { z } from 'zod';
import { strictBody, uuid } from '#platform/http';
import { jsonObject } from '../json-object.js';

const MAX_PROPERTIES_BYTES = 8 * 1024;

const moment = z.iso
  .datetime({ offset: true })
  .transform((text) => new Date(text))
  .meta({ description: 'Default: now. At most 730 days ago.' });

const properties = jsonObject(MAX_PROPERTIES_BYTES).meta({
  description: 'Properties of the event, at most 8 KB of JSON.',
  example: { plan: 'pro' },
});

export const recordEventBody = strictBody({
  name: z
    .string()
    .regex(
      /^[a-z][a-z0-9_.]{0,63}$/,
      'must be 1 to 64 lower-case letters, digits, _ and ., and must start with a letter',
    )
    .meta({ example: 'order.completed' }),
  properties: properties.nullish(),
  occurredAt: moment.nullish(),
}).meta({ id: 'RecordSubscriberEvent' });

export const recordedEventView = z.object({ id: uuid }).meta({ id: 'RecordedSubscriberEvent' });
