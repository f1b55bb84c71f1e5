alter table messaging.campaigns
  add column variants jsonb not null default '[]',
  add column test jsonb,
  add column test_phase text check (test_phase in ('TESTING', 'DECIDED')),
  add column winning_variant smallint,
  add column test_undecided_at timestamptz,
  add column test_result jsonb,
  add constraint campaigns_decided check ((test_phase = 'DECIDED') is true = (winning_variant is not null));
comment on column messaging.campaigns.variants is 'Contents of an A/B test, the first is number 1; what one leaves out is the campaign''s own.';
comment on column messaging.campaigns.test_undecided_at is 'When the test came to no result, and a choice was asked for.';
comment on column messaging.campaigns.test_result is 'The counts by which the winner was chosen, as they were then.';

alter table messaging.deliveries add column variant smallint;
comment on column messaging.deliveries.variant is
  'Number of the campaign''s variant; null without variants, and for the rest, who get the winner: until then next_attempt_at is infinity.';

alter table messaging.campaign_breakdowns add column variants jsonb not null default '[]';
alter table messaging.settled_figures add column variants jsonb;

drop trigger note_media_of_new on messaging.campaigns;
drop trigger note_media_of_changed on messaging.campaigns;
create trigger note_media_of_new after insert or delete on messaging.campaigns for each row
  execute function messaging.note_media('campaign', 'id', 'content_json', 'translations', 'variants');
create trigger note_media_of_changed after update of content_json, translations, variants, deleted_at on messaging.campaigns for each row
  execute function messaging.note_media('campaign', 'id', 'content_json', 'translations', 'variants');
