-- A campaign that was put away before its first report was due still gets it.
drop index messaging.campaigns_sent;
create index campaigns_sent on messaging.campaigns (completed_at) where status in ('SENT', 'ARCHIVED');
