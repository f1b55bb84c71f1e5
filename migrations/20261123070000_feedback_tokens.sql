create table deliverability.feedback_tokens (
  relay_id uuid not null,
  token text not null,
  environment_id bigint not null,
  good_until timestamptz not null,
  primary key (relay_id, token)
);
comment on table deliverability.feedback_tokens is
  'What a provider whose signature does not cover its events gave each of its posts: a second post with the same is a replay. '
  'Kept until its age alone refuses it.';
create index feedback_tokens_oldest on deliverability.feedback_tokens (good_until);

call platform.protect('deliverability.feedback_tokens', 'select, insert');
