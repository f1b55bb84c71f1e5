import { z } from 'zod';
import { SUPPRESSED_STREAMS, SUPPRESSION_REASONS } from '#audience';
import { emailField, emailText, pageOf, pageQuery, PLACES, strictBody, timestamp } from '#platform/http';
import { defaulted } from '../fields.js';
import { ipAddress } from './consents.dto.js';

export const suppressBody = strictBody({
  email: emailField,
  reason: defaulted(
    z.enum(SUPPRESSION_REASONS),
    'GLOBAL_UNSUBSCRIBE',
    'GLOBAL_UNSUBSCRIBE and SPAM_COMPLAINT bar marketing; HARD_BOUNCE and BLOCKED bar all mail. GLOBAL_UNSUBSCRIBE also revokes ' +
      'all consents.',
  ),
  ipAddress,
}).meta({ id: 'Suppress' });

export const suppressionListQuery = pageQuery(
  {
    reason: z
      .enum(SUPPRESSION_REASONS)
      .optional()
      .meta({ description: 'Only suppressions for this reason.' }),
  },
  [PLACES.time, PLACES.text],
);

export const suppressionView = z
  .object({
    email: emailText,
    suppressed: z.boolean(),
    reason: z.enum(SUPPRESSION_REASONS).nullable(),
    streams: z
      .enum(SUPPRESSED_STREAMS)
      .nullable()
      .meta({
        description:
          'The mail that is barred. MARKETING: campaigns, automations and confirmations; messages to one person still go. ALL: any ' +
          'mail. null where the address is not suppressed.',
      }),
    suppressedAt: timestamp.nullable(),
  })
  .meta({ id: 'Suppression' });

export const suppressionPage = pageOf(suppressionView, 'SuppressionPage');
