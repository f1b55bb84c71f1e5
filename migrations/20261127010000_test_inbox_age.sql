-- Serves the sweep: old messages of all environments, and the environments that got mail lately.
create index test_inbox_age on messaging.test_inbox_messages (received_at, environment_id);
