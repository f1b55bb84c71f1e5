import type { Tables } from '#platform';
import { CustomFieldSchema } from './custom-fields/custom-field.schema.js';
import { TopicSchema } from './topics/topic.schema.js';

export const audienceEntities = [CustomFieldSchema, TopicSchema];

/** The tables of the schema `audience`. */
export type AudienceTables = Tables<'audience', typeof CustomFieldSchema | typeof TopicSchema>;
