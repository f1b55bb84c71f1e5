import type { z } from 'zod';
import type {
  createCustomFieldBody,
  customFieldConfigBody,
  customFieldDetailsBody,
  customFieldView,
} from '../../audience/custom-fields.dto.js';
import type {
  createSegmentBody,
  previewSegmentBody,
  segmentMembersBody,
  segmentMemberView,
  segmentPreviewView,
  segmentView,
  updateSegmentBody,
} from '../../audience/segments.dto.js';
import { ADA_ID, GRACE_ID } from './audience.js';
import { onePage, type WrittenExamples } from './written-example.js';

export const SEGMENT_ID = '019c65b6-ba40-7a31-9c3e-2f6b8a4d1e97';
/** Has members of its own, which rules cannot have. */
export const STATIC_SEGMENT_ID = '019c65b8-8f00-7f08-9c3e-2f6b8a4d1e98';

const NEW_FIELD = {
  key: 'plan',
  displayName: 'Plan',
  type: 'SELECT',
  defaultValue: 'free',
  options: [
    { value: 'free', label: 'Free' },
    { value: 'pro', label: 'Professional' },
  ],
} satisfies z.input<typeof createCustomFieldBody>;

const CREATED_FIELD = {
  ...NEW_FIELD,
  id: '019bb14a-5f80-7a31-9c3e-2f6b8a4d1e92',
  description: null,
  status: 'ACTIVE',
  isSystem: false,
  isRequired: false,
  createdAt: '2026-01-12T08:20:00.000Z',
  updatedAt: '2026-01-12T08:20:00.000Z',
  archivedAt: null,
} satisfies z.output<typeof customFieldView>;

const FIELD_DETAILS = { description: 'The plan that the customer pays for' } satisfies z.input<
  typeof customFieldDetailsBody
>;

const DESCRIBED_FIELD = {
  ...CREATED_FIELD,
  ...FIELD_DETAILS,
  updatedAt: '2026-01-12T08:25:00.000Z',
} satisfies z.output<typeof customFieldView>;

const FIELD_CONFIG = {
  options: [...NEW_FIELD.options, { value: 'team', label: 'Team' }],
} satisfies z.input<typeof customFieldConfigBody>;

const FIELD = {
  ...DESCRIBED_FIELD,
  ...FIELD_CONFIG,
  updatedAt: '2026-01-12T08:30:00.000Z',
} satisfies z.output<typeof customFieldView>;

const RULES = '{"version":1,"where":{"field":"custom.plan","op":"in","value":["pro","team"]}}';

const NEW_SEGMENT = {
  name: 'Paying customers',
  description: 'All who have the plan pro or team',
  rules: RULES,
} satisfies z.input<typeof createSegmentBody>;

const CREATED_SEGMENT = {
  ...NEW_SEGMENT,
  id: SEGMENT_ID,
  segmentKey: 'APIT-1',
  type: 'DYNAMIC',
  status: 'ACTIVE',
  memberCount: 2,
  createdAt: '2026-02-16T09:10:00.000Z',
  updatedAt: '2026-02-16T09:10:00.000Z',
} satisfies z.output<typeof segmentView>;

const SEGMENT_CHANGES = {
  description: 'Customers who pay: the plans pro and team',
} satisfies z.input<typeof updateSegmentBody>;

const SEGMENT = {
  ...CREATED_SEGMENT,
  ...SEGMENT_CHANGES,
  updatedAt: '2026-02-16T09:14:00.000Z',
} satisfies z.output<typeof segmentView>;

const STATIC_SEGMENT: z.output<typeof segmentView> = {
  id: STATIC_SEGMENT_ID,
  segmentKey: 'APIT-2',
  name: 'Beta testers',
  description: null,
  type: 'STATIC',
  rules: null,
  status: 'ACTIVE',
  memberCount: 2,
  createdAt: '2026-02-16T09:12:00.000Z',
  updatedAt: '2026-02-16T09:12:00.000Z',
};

const MEMBERS = [
  {
    subscriberId: GRACE_ID,
    email: 'grace@example.com',
    firstName: 'Grace',
    lastName: 'Hopper',
    addedAt: '2026-02-16T09:15:00.000Z',
  },
  {
    subscriberId: ADA_ID,
    email: 'ada@example.com',
    firstName: 'Ada',
    lastName: 'Lovelace',
    addedAt: '2026-02-16T09:15:00.000Z',
  },
] satisfies z.output<typeof segmentMemberView>[];

const TO_PREVIEW = { rules: RULES } satisfies z.input<typeof previewSegmentBody>;

const PREVIEW = { count: 2, sample: MEMBERS } satisfies z.output<typeof segmentPreviewView>;

const PEOPLE = { emails: ['grace@example.com', 'ada@example.com'] } satisfies z.input<
  typeof segmentMembersBody
>;

/** Custom fields and the segments that are made with them. */
export const SEGMENT_EXAMPLES: WrittenExamples = {
  listCustomFields: { answer: [FIELD] },
  createCustomField: { body: NEW_FIELD, answer: CREATED_FIELD },
  getCustomField: { answer: FIELD },
  updateCustomFieldDetails: { body: FIELD_DETAILS, answer: DESCRIBED_FIELD },
  updateCustomFieldConfig: { body: FIELD_CONFIG, answer: FIELD },
  listSegments: { answer: onePage(STATIC_SEGMENT, SEGMENT) },
  createSegment: { body: NEW_SEGMENT, answer: CREATED_SEGMENT },
  previewSegment: { body: TO_PREVIEW, answer: PREVIEW },
  getSegment: { answer: SEGMENT },
  updateSegment: { body: SEGMENT_CHANGES, answer: SEGMENT },
  listSegmentMembers: { answer: onePage(...MEMBERS) },
  addSegmentMembers: { body: PEOPLE },
  deleteSegmentMembers: { body: PEOPLE },
  removeSegmentMembers: { body: PEOPLE },
};
