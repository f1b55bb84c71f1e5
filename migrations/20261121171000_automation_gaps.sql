-- What the webhooks of an environment's automations are signed with, once anybody asked for it.
create table messaging.automation_secrets (
  environment_id bigint primary key,
  -- the secret is sealed for it
  project_id bigint not null,
  secret text not null
);
call platform.protect('messaging.automation_secrets', 'select, insert, update');
