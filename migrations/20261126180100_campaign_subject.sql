alter table messaging.campaigns alter subject drop not null;
comment on column messaging.campaigns.subject is 'Null: none yet, with which nothing is sent.';
