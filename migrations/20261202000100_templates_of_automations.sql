alter table messaging.automation_versions add column mail_template_ids uuid[] not null default '{}';
comment on column messaging.automation_versions.mail_template_ids is 'Templates of the mails by the place of the node; null for another step.';
