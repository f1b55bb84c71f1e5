-- Lists show the newest first and read these indexes backwards: new people enter at the end of an environment, whose pages stay full
-- then. At the beginning each page was split in halves: twice the pages, and half the log of writing them.
drop index audience.subscribers_newest;
create index subscribers_newest on audience.subscribers (environment_id, created_at, id) include (updated_at);
drop index audience.subscribers_of_status;
create index subscribers_of_status on audience.subscribers (environment_id, status, created_at, id) include (updated_at);
drop index audience.consents_of_topic_newest;
create index consents_of_topic_newest on audience.consents (environment_id, topic_id, subscriber_created_at, subscriber_id)
  include (subscriber_status) where status in ('SUBSCRIBED', 'PENDING_CONFIRMATION');

-- One array, whose elements are found by their place: rows of a function had to be sorted and joined.
create function access.next_subscriber_numbers(quantity int, out project_key text, out numbers bigint[])
  language plpgsql security definer set search_path = pg_catalog as $$
declare
  project bigint := platform.project_id();
  sequence regclass := format('access.%I', 'key_subscriber_' || project)::regclass;
begin
  select p.project_key into project_key from access.projects p where p.id = project;
  numbers := array(select nextval(sequence) from generate_series(1, quantity));
end $$;
comment on function access.next_subscriber_numbers is
  'The numbers of the next keys of many subscribers in one call: access.next_key looks the project up for each.';
revoke all on function access.next_subscriber_numbers from public;
grant execute on function access.next_subscriber_numbers to mailwright_app;
drop function access.next_subscriber_keys;
