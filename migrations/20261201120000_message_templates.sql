alter table messaging.messages
  add column template_content_id uuid,
  add column template_key text collate "C",
  add column template_version integer;
comment on column messaging.messages.template_content_id is 'What its subject and content are, in its locale; null where they are its own. A change of the template makes another.';
comment on column messaging.messages.template_key is 'The key of the template, also once that is deleted.';
create index messages_of_template on messaging.messages (environment_id, template_key, created_at, id) where template_key is not null;
