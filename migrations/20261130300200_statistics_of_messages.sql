create index message_events_in_window on messaging.message_events (environment_id, type, occurred_at);
