import { defineEvent } from '#kernel';

/** A topic was deleted; the consents to it are still to be removed. `apiKeyId`: by whose key. */
export const TopicDeleted = defineEvent<{ topicId: string; apiKeyId: string | null }>(
  'audience.topic_deleted.v1',
);
