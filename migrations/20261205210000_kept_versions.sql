alter table messaging.campaigns add column is_version_kept boolean not null default false;
comment on column messaging.campaigns.is_version_kept is
  'It keeps a version of its template that nobody named: a draft again, it goes by the one in use.';
