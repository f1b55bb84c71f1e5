import { z } from 'zod';
import { IMAGE_TYPES } from '#messaging';
import { pageOf, timestamp, uuid } from '#platform/http';
import { leftOut, requiredLine } from '../fields.js';

export const uploadMediaQuery = z.object({
  filename: leftOut(requiredLine(255)).meta({
    description: 'Name by which you know it; readers do not see it.',
  }),
});

export const deleteMediaQuery = z.object({
  force: z
    .enum(['true', 'false'])
    .optional()
    .transform((force) => force === 'true')
    .meta({ description: 'true deletes it though it is in use: content and mails then show a gap.' }),
});

const user = z.object({
  kind: z.enum(['campaign', 'automation', 'segment', 'template', 'topic', 'project']),
  key: z.string(),
  name: z.string(),
});

export const mediaView = z
  .object({
    id: uuid,
    url: z.string().meta({
      description:
        'Public and for good. `?w=600` makes it narrower: pixels, which are rounded up to one of a few widths.',
    }),
    filename: z.string().nullable(),
    contentType: z.enum(Object.values(IMAGE_TYPES)),
    width: z.int().meta({ description: 'Pixels, once it is upright.' }),
    height: z.int(),
    bytes: z.int().meta({ description: 'As it is kept, which the quota counts.' }),
    usedBy: z.array(user).meta({ description: 'Content that names its URL, at most 10.' }),
    usedByCount: z.int(),
    lastShownOn: z.iso.date().nullable().meta({
      description: 'Day of the last mail that may show it and whose content is not among `usedBy`, in UTC.',
    }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Media' });

export const mediaPage = pageOf(mediaView, 'MediaPage');
