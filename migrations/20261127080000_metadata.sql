-- Notes of the client's programs, which Mailwright keeps and shows and does not read.
alter table audience.subscribers add column metadata jsonb not null default '{}';
alter table audience.topics add column metadata jsonb not null default '{}';
alter table messaging.campaigns add column metadata jsonb not null default '{}';
alter table messaging.automations add column metadata jsonb not null default '{}';
comment on column audience.subscribers.metadata is 'Strings of the client by key, at most 20.';
comment on column audience.topics.metadata is 'Strings of the client by key, at most 20.';
comment on column messaging.campaigns.metadata is 'Strings of the client by key, at most 20.';
comment on column messaging.automations.metadata is 'Strings of the client by key, at most 20.';
