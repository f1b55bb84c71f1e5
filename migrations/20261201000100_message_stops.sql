alter table messaging.sending_stops add column stream text not null default 'MARKETING' check (stream in ('MARKETING', 'TRANSACTIONAL'));
alter table messaging.sending_stops drop constraint sending_stops_pkey;
alter table messaging.sending_stops add primary key (environment_id, stream);
comment on table messaging.sending_stops is 'Projects whose live campaigns, or whose live messages, are stopped for their bounces or complaints.';
comment on column messaging.sending_stops.stream is 'TRANSACTIONAL: its messages; MARKETING: its campaigns.';
-- They are few: a project is judged by counting them first.
create index message_events_against on messaging.message_events (environment_id, occurred_at) where type in ('BOUNCED', 'COMPLAINED');
