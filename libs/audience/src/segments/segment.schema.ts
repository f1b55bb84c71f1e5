import { defineEntity, p } from '@mikro-orm/postgresql';
import { Segment, type SegmentStatus, type SegmentType } from './segment.js';

/** audience.segments. The statement that adds or removes members of a static segment also updates their count. */
export const SegmentSchema = defineEntity({
  class: Segment,
  tableName: 'segments',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    segmentKey: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    type: p.string().$type<SegmentType>(),
    rules: p.text().nullable(),
    status: p.string().$type<SegmentStatus>(),
    conditionCount: p.integer(),
    memberCount: p.bigint('number').nullable(),
    isDue: p.boolean(),
    evaluatedAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
