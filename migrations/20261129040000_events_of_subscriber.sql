-- The environment comes first, so that no index of the environment's events seems as good: a month without statistics was read whole
-- for one person, by activity, export and erasure.
drop index audience.subscriber_events_of_subscriber;
create index subscriber_events_of_subscriber on audience.subscriber_events (environment_id, subscriber_id, name, occurred_at);
