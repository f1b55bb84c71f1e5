alter table messaging.campaigns add column resend_of text;
comment on column messaging.campaigns.resend_of is 'Key of a sent campaign: the audience is those who got it and did not open it. That row is never deleted.';
