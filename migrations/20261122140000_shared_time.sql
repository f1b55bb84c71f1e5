-- The time that processes share: leases, due times, windows. When the statement came to the server, since a transaction may have
-- begun long before; in milliseconds, so that what a program has read is what is written. A test says what time it is.
create function platform.now() returns timestamptz language sql stable parallel safe
return date_trunc('milliseconds',
  coalesce(nullif(current_setting('mailwright.now', true), '')::timestamptz, statement_timestamp()));
grant execute on function platform.now to mailwright_app, mailwright_system;
