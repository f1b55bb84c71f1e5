create table platform.audit_inbox (
  environment_id bigint not null,
  occurred_at timestamptz(3) not null,
  id uuid not null,
  entry jsonb not null,
  primary key (environment_id, occurred_at, id)
);
comment on table platform.audit_inbox is 'Entries of the audit log that were written with what they tell of, and wait for their place in the chain.';
call platform.protect('platform.audit_inbox', 'select, insert');
revoke update on platform.audit_inbox from mailwright_system;

create table platform.audit_log (
  environment_id bigint not null,
  sequence bigint not null,
  id uuid not null,
  occurred_at timestamptz(3) not null,
  actor_type text not null check (actor_type in ('KEY', 'OPERATOR', 'SYSTEM')),
  key_id uuid,
  key_name text,
  network text,
  request_id text,
  action text not null,
  target_type text not null,
  target_id text,
  items integer,
  outcome text not null check (outcome in ('SUCCEEDED', 'REFUSED', 'FAILED', 'REPLAYED')),
  problem text,
  before jsonb,
  after jsonb,
  previous_hash bytea not null,
  hash bytea not null,
  primary key (environment_id, sequence)
);
comment on table platform.audit_log is 'Requests that change something, or would have: rows are added at the end of the environment''s chain and never changed.';
comment on column platform.audit_log.sequence is 'Number in the environment, from 1 without gaps.';
comment on column platform.audit_log.key_name is 'Name of the key when the row was chained.';
comment on column platform.audit_log.hash is 'SHA-256 of the row as `GET /audit-log/export` shows it, without this one, with that of the row before in `previous_hash`.';
create index audit_log_in_order on platform.audit_log (environment_id, occurred_at, sequence);
create index audit_log_of_key on platform.audit_log (environment_id, key_id, occurred_at, sequence);
create index audit_log_of_action on platform.audit_log (environment_id, action, occurred_at, sequence);
create index audit_log_of_target on platform.audit_log (environment_id, target_id, occurred_at, sequence);
create index audit_log_of_request on platform.audit_log (environment_id, request_id);
create index audit_log_of_outcome on platform.audit_log (environment_id, outcome, occurred_at, sequence);
call platform.protect('platform.audit_log', 'select');
revoke update on platform.audit_log from mailwright_system;

-- By the server's clock, which no setting moves.
create function platform.keep_audit_log() returns trigger language plpgsql as $$
begin
  if old.occurred_at > now() - interval '13 months' then
    raise exception 'Rows of the audit log are kept for 13 months.' using errcode = 'insufficient_privilege';
  end if;
  return old;
end $$;
comment on function platform.keep_audit_log is 'Refuses to remove young rows of the audit log, whoever asks.';
create trigger keep_audit_log before delete on platform.audit_log for each row execute function platform.keep_audit_log();

create table platform.audit_checkpoints (
  environment_id bigint not null,
  sequence bigint not null,
  hash bytea not null,
  removed_at timestamptz(3) not null,
  primary key (environment_id, sequence)
);
comment on table platform.audit_checkpoints is 'The last row of an audit log that was removed for its age, each time: the chain goes on from there.';
call platform.protect('platform.audit_checkpoints', 'select');
revoke update, delete on platform.audit_checkpoints from mailwright_system;
