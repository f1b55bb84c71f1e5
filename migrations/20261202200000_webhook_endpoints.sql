-- Few of an endpoint's deliveries fail for good: they are listed, and replayed.
create index deliveries_failed_of_endpoint on webhooks.deliveries (endpoint_id, created_at desc, id desc) where state = 'FAILED';
