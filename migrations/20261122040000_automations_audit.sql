-- The next posts are looked up endpoint by endpoint, so that one with much to be told keeps no other waiting.
create index deliveries_open_of_endpoint on webhooks.deliveries (endpoint_id, next_attempt_at) where finished_at is null;
