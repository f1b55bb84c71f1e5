-- Finds the events about messages to somebody who is no subscriber.
create index events_of_message on webhooks.events (environment_id, (data ->> 'messageId')) where starts_with(type, 'message.');
