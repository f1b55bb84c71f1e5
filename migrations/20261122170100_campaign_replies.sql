-- estimated_at: as of when estimated_recipient_count was counted
alter table messaging.campaigns add reply_to text, add estimated_at timestamptz;
update messaging.campaigns set estimated_at = updated_at where estimated_recipient_count is not null;
