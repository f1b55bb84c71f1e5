import { z } from 'zod';
import { normalizedName, SUBSCRIBER_STATUSES } from '#audience';
import { emailField, emailText, pageOf, pageQuery, strictBody, timestamp, uuid } from '#platform/http';
import { jsonObject, leftOut, line, localeField, moment, timeZoneField } from '../fields.js';
import { proofFields } from './consents.dto.js';

const MAX_NAME = 50;

/** Measured as it is stored. */
const name = z.string().transform(normalizedName).pipe(line(MAX_NAME)).meta({ maxLength: MAX_NAME });

const fields = {
  firstName: name.nullish(),
  lastName: name.nullish(),
  phone: line(20).nullish(),
  locale: localeField.nullish(),
  timeZone: timeZoneField.nullish(),
  customFields: leftOut(z.record(z.string(), z.unknown())),
};

export const createSubscriberBody = strictBody({
  email: emailField,
  topicKeys: z.array(z.string()).min(1).max(100),
  consent: strictBody(proofFields),
  ...fields,
}).meta({ id: 'CreateSubscriber' });
export const updateSubscriberBody = strictBody(fields).meta({ id: 'UpdateSubscriber' });

export const subscriberListQuery = pageQuery({
  status: z.enum(SUBSCRIBER_STATUSES).optional().meta({ description: 'Only subscribers of this status.' }),
  topicKey: z
    .string()
    .optional()
    .meta({ description: 'Only subscribers whose consent to this topic is subscribed or pending.' }),
  q: line(254).optional().meta({
    description: 'The beginning of the e-mail address, first name or last name, case-insensitive.',
  }),
  createdAfter: moment.optional().meta({ description: 'Only subscribers created after this time.' }),
  createdBefore: moment.optional().meta({ description: 'Only subscribers created before this time.' }),
  updatedAfter: moment.optional().meta({ description: 'Only subscribers changed after this time.' }),
});

export const subscriberView = z
  .object({
    id: uuid,
    subscriberKey: z.string().nullable().meta({ example: 'APIT-1' }),
    email: emailText,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    phone: z.string().nullable(),
    locale: z.string().nullable().meta({ description: 'The language, by BCP 47.' }),
    timeZone: z.string().nullable().meta({ description: 'The IANA name of the time zone.' }),
    status: z.enum(SUBSCRIBER_STATUSES),
    source: z.enum(['API', 'IMPORT', 'FORM', 'MANUAL']).nullable(),
    customFields: z.record(z.string(), z.unknown()),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Subscriber' });

export const subscriberPage = pageOf(subscriberView, 'SubscriberPage');

const MAX_PROPERTIES_BYTES = 8 * 1024;

const occurredAt = z.iso
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
  occurredAt: occurredAt.nullish(),
}).meta({ id: 'RecordSubscriberEvent' });

export const recordedEventView = z.object({ id: uuid }).meta({ id: 'RecordedSubscriberEvent' });
