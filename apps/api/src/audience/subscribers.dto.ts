import { z } from 'zod';
import { externalIdFault, MAX_EXTERNAL_ID, normalizedName, SUBSCRIBER_STATUSES } from '#audience';
import { emailField, emailText, pageOf, pageQuery, strictBody, timestamp, uuid } from '#platform/http';
import {
  defaulted,
  leftOut,
  line,
  localeField,
  metadataField,
  metadataView,
  moment,
  requiredLine,
  timeZoneField,
} from '../fields.js';
import { proofFields } from './consents.dto.js';

const MAX_NAME = 50;

/** Measured as it is stored. */
const name = z.string().transform(normalizedName).pipe(line(MAX_NAME)).meta({ maxLength: MAX_NAME });

export const externalId = z
  .string()
  .refine((value) => externalIdFault(value) === null, {
    error: ({ input }) => externalIdFault(String(input)) ?? '',
  })
  .meta({
    minLength: 1,
    maxLength: MAX_EXTERNAL_ID,
    description: 'Your own id of the person, unique in the environment; it stays when the address changes.',
    example: 'customer-4711',
  });

const fields = {
  externalId: externalId.nullish(),
  firstName: name.nullish(),
  lastName: name.nullish(),
  phone: line(20).nullish(),
  locale: localeField.nullish(),
  timeZone: timeZoneField.nullish(),
  customFields: leftOut(z.record(z.string(), z.unknown())).meta({
    description:
      'Values by the keys of custom fields. For an existing subscriber those named are changed; null clears one, and null for all of it changes nothing.',
  }),
  metadata: metadataField,
};

export const createSubscriberBody = strictBody({
  email: emailField,
  topicKeys: z.array(z.string()).min(1).max(100),
  consent: strictBody(proofFields),
  ...fields,
}).meta({ id: 'CreateSubscriber' });

export const updateSubscriberBody = strictBody({
  email: emailField.optional().meta({ description: 'A new address of the same person.' }),
  emailConfirmed: leftOut(
    strictBody({
      source: requiredLine(100).meta({
        description: 'How the person confirmed the address to you.',
        example: 'account-page',
      }),
      confirmedAt: moment.meta({ description: 'When; not in the future.' }),
    }),
  ).meta({
    description:
      'Your proof that the new address is the person’s, kept in the consent record: topics with double opt-in do not ask again.',
  }),
  ...fields,
})
  .refine(({ email, emailConfirmed }) => emailConfirmed === undefined || email !== undefined, {
    path: ['emailConfirmed'],
    error: 'needs a new email',
    // Beside errors in other fields, too.
    when: ({ value, issues }) =>
      typeof value === 'object' && value !== null && !issues.some(({ path }) => path?.[0] === 'email'),
  })
  .meta({ id: 'UpdateSubscriber' });

export const upsertSubscriberBody = strictBody({
  topicKeys: leftOut(z.array(z.string()).max(100)).meta({
    description: 'Topics to subscribe to; required for a new subscriber.',
  }),
  consent: leftOut(strictBody(proofFields)).meta({
    description: 'How consent to topics was given; required where there is one to subscribe to.',
  }),
  resubscribe: defaulted(
    z.boolean(),
    false,
    'Whether the person, who unsubscribed from one of the topics, asked to be subscribed to it again.',
  ),
  ...fields,
}).meta({ id: 'UpsertSubscriber' });

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
    externalId: z.string().nullable().meta({ description: 'Your own id of the person.' }),
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    phone: z.string().nullable(),
    locale: z.string().nullable().meta({ description: 'The language, by BCP 47.' }),
    timeZone: z.string().nullable().meta({ description: 'The IANA name of the time zone.' }),
    status: z.enum(SUBSCRIBER_STATUSES),
    source: z.enum(['API', 'IMPORT', 'FORM', 'MANUAL']).nullable(),
    customFields: z.record(z.string(), z.unknown()),
    metadata: metadataView,
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Subscriber' });

export const subscriberPage = pageOf(subscriberView, 'SubscriberPage');
