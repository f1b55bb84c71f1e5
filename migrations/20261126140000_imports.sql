alter table audience.import_rows add column line bigint;
alter table audience.import_errors add column line bigint;
comment on column audience.import_rows.line is 'The line of the file in which the row begins, counted from 1; null for a row of a list.';
comment on column audience.import_errors.line is 'As in import_rows.';
comment on column audience.import_errors.email is
  'Null unless the row has a valid address: in a cell that is none, such as one of two addresses, no erasure would find its owner.';
update audience.import_errors set email = null where email_key is null and email is not null;

-- As the api writes and compares names: NFC, without spaces and pairs of quotes around them.
update audience.subscribers b set first_name = n.first_name, last_name = n.last_name
from (
  select environment_id, id, normalize(btrim(regexp_replace(btrim(first_name, w.spaces), w.quoted, '\1\2\3\4'), w.spaces), NFC) as first_name,
    normalize(btrim(regexp_replace(btrim(last_name, w.spaces), w.quoted, '\1\2\3\4'), w.spaces), NFC) as last_name
  from audience.subscribers cross join (
    select E' \u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u2028\u2029\u202f\u205f\u3000\ufeff' as spaces,
      '^(?:"(.*)"|“(.*)”|„(.*)[“”]|«(.*)»)$' as quoted
  ) w
) n
where b.environment_id = n.environment_id and b.id = n.id
  and (b.first_name is distinct from n.first_name or b.last_name is distinct from n.last_name);
