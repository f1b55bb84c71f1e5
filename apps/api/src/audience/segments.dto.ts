import { z } from 'zod';
import { SEGMENT_STATUSES, SEGMENT_TYPES } from '#audience';
import { emailField, emailText, int64, pageOf, strictBody, timestamp, uuid } from '#platform/http';
import { leftOut, prose, requiredLine } from '../fields.js';

/** Subscribers in one request. */
const MAX_PEOPLE = 10_000;
export const MAX_PEOPLE_BYTES = 4 * 1024 * 1024;

const rules = z.string().meta({
  description:
    'The rules as JSON in a string: `{"version":1,"where":…}`. At most 32 KB, 50 conditions, 5 levels.',
  example: '{"version":1,"where":{"field":"custom.plan","op":"in","value":["pro","team"]}}',
});
const name = requiredLine(200);
const description = prose(500).nullish();

export const createSegmentBody = strictBody({
  name,
  description,
  type: leftOut(z.enum(SEGMENT_TYPES)).meta({
    description: 'Default: DYNAMIC with rules, STATIC without.',
  }),
  rules: rules.nullish(),
}).meta({ id: 'CreateSegment' });

export const updateSegmentBody = strictBody({
  name: name.optional(),
  description,
  status: leftOut(z.enum(SEGMENT_STATUSES)),
  rules: rules.nullish(),
}).meta({ id: 'UpdateSegment' });

export const previewSegmentBody = strictBody({ rules }).meta({ id: 'PreviewSegment' });

export const segmentMembersBody = strictBody({
  subscriberIds: leftOut(z.array(z.uuid()).min(1).max(MAX_PEOPLE)),
  emails: leftOut(z.array(emailField).min(1).max(MAX_PEOPLE)),
})
  .superRefine(({ subscriberIds, emails }, context) => {
    if (subscriberIds !== undefined || emails !== undefined) return;
    context.addIssue({
      code: 'custom',
      path: ['subscriberIds'],
      message: 'is required unless emails is given',
    });
  })
  .meta({ id: 'SegmentMembers', description: 'Subscribers by their ids, by their addresses, or both.' });

export const segmentView = z
  .object({
    id: uuid,
    segmentKey: z.string().nullable().meta({ example: 'APIT-1' }),
    name: z.string(),
    description: z.string().nullable(),
    type: z.enum(SEGMENT_TYPES),
    rules: z.string().nullable(),
    status: z.enum(SEGMENT_STATUSES),
    memberCount: int64
      .nullable()
      .meta({ description: 'For a DYNAMIC segment, as of its last evaluation; null before the first.' }),
    createdAt: timestamp,
    updatedAt: timestamp,
  })
  .meta({ id: 'Segment' });
export const segmentPage = pageOf(segmentView, 'SegmentPage');

export const segmentMemberView = z
  .object({
    subscriberId: uuid,
    email: emailText,
    firstName: z.string().nullable(),
    lastName: z.string().nullable(),
    addedAt: timestamp,
  })
  .meta({ id: 'SegmentMember' });
export const segmentMemberPage = pageOf(segmentMemberView, 'SegmentMemberPage');

export const segmentPreviewView = z
  .object({ count: int64, sample: z.array(segmentMemberView).max(5) })
  .meta({ id: 'SegmentPreview' });
