-- Rules ask for what people did, never for what scanners did. With that in the index's condition a window is answered from
-- the index alone, and scanners' events cost it nothing.
drop index messaging.delivery_events_in_window;
create index delivery_events_in_window on messaging.delivery_events (environment_id, type, occurred_at)
  include (subscriber_id, campaign_id) where classification = 'human';
