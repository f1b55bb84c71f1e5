import { defineEvent } from '#kernel';

/** A topic was deleted; its consents have to be removed. `apiKeyId`: the key of the request. */
export const TopicDeleted = defineEvent<{ topicId: string; apiKeyId: string | null }>(
  'audience.topic_deleted.v1',
);
