import { defineEntity, p } from '@mikro-orm/postgresql';
import {
  Topic,
  type TopicPriority,
  type TopicStatus,
  type TopicTranslations,
  type TopicVisibility,
} from './topic.js';

/** audience.topics */
export const TopicSchema = defineEntity({
  class: Topic,
  tableName: 'topics',
  schema: 'audience',
  properties: {
    id: p.uuid().primary(),
    environmentId: p.bigint('number').primary(),
    topicKey: p.text(),
    name: p.text(),
    description: p.text().nullable(),
    status: p.string().$type<TopicStatus>(),
    visibility: p.string().$type<TopicVisibility>(),
    priority: p.string().$type<TopicPriority>().nullable(),
    icon: p.text().nullable(),
    doubleOptInEnabled: p.boolean(),
    translations: p.json<TopicTranslations>(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
    deletedAt: p.datetime(3).nullable(),
  },
});
