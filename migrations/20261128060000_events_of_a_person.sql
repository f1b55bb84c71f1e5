-- A page of a person's events is read from the index in the order of their numbers, however many there are.
drop index webhooks.events_of_subscriber;
create index events_of_subscriber on webhooks.events (environment_id, subscriber_id, sequence) where subscriber_id is not null;
