alter table messaging.campaigns
  add column template_key text collate "C",
  add column template_version integer,
  add column template_content_id uuid;
comment on column messaging.campaigns.template_key is 'The template whose content it has in place of its own, also once that is deleted.';
comment on column messaging.campaigns.template_version is 'Null: the one in use.';
comment on column messaging.campaigns.template_content_id is 'What it keeps from the moment that it is scheduled or sent. A change of the template makes another.';
create index campaigns_of_template on messaging.campaigns (environment_id, template_key) where template_key is not null;
