-- Rows of an import come checked: the request that brings them reads each of them anyway, and the worker then makes
-- new subscribers of them without reading one. What the columns say holds for the custom fields as they were, whose
-- digest the import keeps; when they changed, and for everybody who is there already, the worker reads `cells`.
alter table audience.import_rows
  -- null where the row makes no new subscriber as it is
  add column email text,
  add column first_name text,
  add column last_name text,
  add column phone text,
  add column custom_fields jsonb;
grant insert (email, first_name, last_name, phone, custom_fields) on audience.import_rows_staged to mailwright_app;
grant update (email, first_name, last_name, phone, custom_fields) on audience.import_rows to mailwright_app;
alter table audience.imports add column definitions_digest text;

-- The two foreign keys cost a consent a third of its time, and a share lock on the topic's row for each.
-- What they guarded is so without them: whoever adds a consent holds the lock of the subscriber's row or has just made
-- it, and who erases a subscriber waits for that lock; rows of topics are never removed. `check:counters` looks for
-- consents of nobody and of no topic all the same.
alter table audience.consents
  drop constraint consents_subscriber_id_fkey,
  drop constraint consents_topic_id_fkey;

create function audience.remove_consents() returns trigger language plpgsql set enable_seqscan = off as $$
begin
  delete from audience.consents c where c.subscriber_id in (select e.id from erased e);
  return null;
end $$;
create trigger remove_consents after delete on audience.subscribers
  referencing old table as erased for each statement execute function audience.remove_consents();

-- Who adds consents by the thousand tells what the subscribers are, and none of them is looked up for it.
drop trigger describe_consent on audience.consents;
create trigger describe_consent before insert on audience.consents
  for each row when (new.subscriber_status is null) execute function audience.describe_consent();
