import { z } from 'zod';
import { SUPPRESSION_REASONS } from '#audience';
import { emailField, emailText, pageOf, pageQuery, PLACES, strictBody, timestamp } from '#platform/http';
import { defaulted } from '../fields.js';
import { ipAddress } from './consents.dto.js';

export const suppressBody = strictBody({
  email: emailField,
  reason: defaulted(
    z.enum(SUPPRESSION_REASONS),
    'GLOBAL_UNSUBSCRIBE',
    'GLOBAL_UNSUBSCRIBE also revokes all consents.',
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
    suppressedAt: timestamp.nullable(),
  })
  .meta({ id: 'Suppression' });

export const suppressionPage = pageOf(suppressionView, 'SuppressionPage');
