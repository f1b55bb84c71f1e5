import { z } from 'zod';
import { SUPPRESSED_STREAMS, SUPPRESSION_REASONS } from '#audience';
import { emailField, emailText, pageOf, pageQuery, PLACES, strictBody, timestamp } from '#platform/http';
import { batchResults, defaulted } from '../fields.js';
import { ipAddress } from './consents.dto.js';

const reason = defaulted(
  z.enum(SUPPRESSION_REASONS),
  'GLOBAL_UNSUBSCRIBE',
  'GLOBAL_UNSUBSCRIBE and SPAM_COMPLAINT bar marketing; HARD_BOUNCE and BLOCKED bar all mail. GLOBAL_UNSUBSCRIBE also revokes ' +
    'all consents.',
);

export const suppressBody = strictBody({
  email: emailField,
  reason,
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

const MAX_BATCH = 1_000;

export const suppressionInBatch = strictBody({ email: emailField, reason });

export const suppressAllBody = strictBody({
  suppressions: z.array(suppressionInBatch).min(1).max(MAX_BATCH),
}).meta({ id: 'SuppressAll' });

/** The same with parts that are looked at one by one. */
export const suppressionsBody = strictBody({ suppressions: z.array(z.unknown()).min(1).max(MAX_BATCH) });

export const suppressedView = batchResults(
  'suppressions',
  { suppression: suppressionView.optional().meta({ description: 'What holds for the address now.' }) },
  'SuppressedAll',
);
