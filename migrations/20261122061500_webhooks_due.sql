-- Asked for by another word than that of deliveries_open, which has the same order: where one endpoint has most of what
-- waits, that one seems as good, and would be read as a whole for each endpoint that has nothing.
drop index webhooks.deliveries_open_of_endpoint;
create index deliveries_open_of_endpoint on webhooks.deliveries (endpoint_id, next_attempt_at) where state = 'PENDING';
