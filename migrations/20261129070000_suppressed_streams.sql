-- A suppression bars all mail, or marketing alone. Programs of version 0.2.0 know nothing of it and go on: where they suppress a
-- bounced address, the next bounce makes it ALL.
alter table audience.suppressions add column streams text not null default 'MARKETING';
alter table audience.suppressions add constraint suppressions_streams_check check (streams in ('ALL', 'MARKETING'));
alter table audience.erased_suppressions add column streams text not null default 'MARKETING';
alter table audience.erased_suppressions add constraint erased_suppressions_streams_check check (streams in ('ALL', 'MARKETING'));
comment on table audience.suppressions is 'Addresses that get no mail, or no marketing, whatever their consents say, of subscribers or not.';
comment on column audience.suppressions.streams is
  'MARKETING: campaigns, automations and confirmations are barred; ALL: messages to one person, too. Only ever widened.';
comment on column audience.erased_suppressions.streams is 'As in audience.suppressions.';

update audience.suppressions set streams = 'ALL' where reason = 'HARD_BOUNCE';
update audience.erased_suppressions set streams = 'ALL' where reason = 'HARD_BOUNCE';

alter table audience.suppressions drop constraint suppressions_reason_check;
alter table audience.suppressions add constraint suppressions_reason_check
  check (reason in ('GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE', 'BLOCKED'));
alter table audience.erased_suppressions drop constraint erased_suppressions_reason_check;
alter table audience.erased_suppressions add constraint erased_suppressions_reason_check
  check (reason in ('GLOBAL_UNSUBSCRIBE', 'SPAM_COMPLAINT', 'HARD_BOUNCE', 'BLOCKED'));

grant update (streams) on audience.erased_suppressions to mailwright_app;
