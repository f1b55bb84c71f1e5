-- A domain is judged by the refusals of all its mails. Campaigns count theirs by the minute; of confirmations, test mails
-- and automations' mails, which no campaign counts, the deliveries themselves are read, by whoever finds a refusal among
-- them. None of these columns changes before a delivery ends, so what goes before stays heap-only.
create index deliveries_single_refused on messaging.deliveries (finished_at, environment_id)
  where kind <> 'CAMPAIGN' and (reason = 'sender' or bounce_class = 'sender');
create index deliveries_single_ended on messaging.deliveries (environment_id, finished_at) where kind <> 'CAMPAIGN' and finished_at is not null;
