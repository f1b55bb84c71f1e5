import type { Tables } from '#platform';
import { TopicSchema } from './topics/topic.schema.js';

export const audienceEntities = [TopicSchema];

/** The tables of the schema `audience`. */
export type AudienceTables = Tables<'audience', typeof TopicSchema>;
