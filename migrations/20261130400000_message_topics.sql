alter table messaging.messages add column topic_key text;
comment on column messaging.messages.topic_id is 'Of a notification: mail that its reader may leave. Null for mail that needs no consent.';
comment on column messaging.messages.topic_key is 'The key of the topic, also once that is deleted.';
