-- Opens and clicks of automations' mails.

-- A set of links belongs to a campaign, or to a mail of a version of an automation: the place of its node.
alter table messaging.link_sets
  alter column campaign_id drop not null,
  add column version_id bigint,
  add column place smallint,
  add constraint link_sets_owner check (
    (campaign_id is null) = (version_id is not null) and (version_id is null) = (place is null)
  );
create unique index link_sets_of_step on messaging.link_sets (version_id, place, queued_on, signature)
  where version_id is not null;
