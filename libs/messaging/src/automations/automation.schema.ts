import { defineEntity, p } from '@mikro-orm/postgresql';
import type { Metadata } from '#kernel';
import { Automation, type AutomationStatus, type TriggerType } from './automation.js';

/** messaging.automations */
export const AutomationSchema = defineEntity({
  class: Automation,
  tableName: 'automations',
  schema: 'messaging',
  properties: {
    id: p.uuid().primary(),
    number: p.bigint('number').autoincrement(),
    environmentId: p.bigint('number').primary(),
    automationKey: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    status: p.string().$type<AutomationStatus>(),
    triggerType: p.string().$type<TriggerType>().nullable(),
    triggerTopicId: p.uuid().nullable(),
    metadata: p.json().$type<Metadata>(),
    nodes: p.text().nullable(),
    edges: p.text().nullable(),
    nodeCount: p.integer().nullable(),
    versionId: p.bigint('number').nullable(),
    isRevised: p.boolean(),
    isClosing: p.boolean(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
  },
});
