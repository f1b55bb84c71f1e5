-- Paths name people by their keys, too. The key leads: it alone is nearly one row, whatever the statistics say.
create index subscribers_by_key on audience.subscribers (subscriber_key text_pattern_ops, environment_id);
