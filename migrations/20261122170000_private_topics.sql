alter table audience.topics
  add visibility text not null default 'PUBLIC' check (visibility in ('PUBLIC', 'PRIVATE'));
