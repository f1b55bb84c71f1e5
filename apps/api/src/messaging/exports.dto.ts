import { z } from 'zod';
import { EXPORT_FORMATS, EXPORT_KINDS, EXPORT_STATUSES } from '#messaging';
import { int64, strictBody, timestamp, uuid } from '#platform/http';

export const createExportBody = strictBody({
  what: z.enum(EXPORT_KINDS).meta({
    description:
      'The rows of the file. SUBSCRIBERS needs the scope `subscribers:read`, CONSENTS `consents:manage`, SUPPRESSIONS ' +
      '`suppressions:manage`, EVENTS `subscribers:read`, DELIVERIES `reports:read`.',
  }),
  segmentKey: z.string().nullish().meta({
    description: 'Only rows of people in this segment, by its key or id; not with SUPPRESSIONS.',
    example: 'APIT-1',
  }),
  format: z.enum(EXPORT_FORMATS),
})
  .refine(({ what, segmentKey = null }) => what !== 'SUPPRESSIONS' || segmentKey === null, {
    path: ['segmentKey'],
    error: 'must not be given with SUPPRESSIONS, which are of addresses',
  })
  .meta({ id: 'CreateExport' });

export const exportView = z
  .object({
    id: uuid,
    what: z.enum(EXPORT_KINDS),
    segmentKey: z.string().nullable(),
    format: z.enum(EXPORT_FORMATS),
    status: z.enum(EXPORT_STATUSES),
    rows: int64
      .nullable()
      .meta({ description: 'Rows in the file, without the header; null until it is COMPLETED.' }),
    url: z.string().nullable().meta({
      description: 'The address of the file. It needs no key, and is null before and after its hour.',
    }),
    expiresAt: timestamp.nullable().meta({ description: 'When the file is removed.' }),
    failureReason: z.string().nullable(),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Export' });
