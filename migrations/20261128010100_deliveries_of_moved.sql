-- A person may get the address of somebody whom the same campaign was sent to before: once each is of people, not of addresses.
create index deliveries_of_address on messaging.deliveries (source_id, address_key, id);
alter table messaging.deliveries drop constraint deliveries_source_id_address_key_queued_on_environment_id_key;
