alter table access.projects
  add privacy_url text check (privacy_url ~ '^https://'),
  add contact_email text;
comment on column access.projects.privacy_url is
  'The https address of the sender''s privacy policy, linked from opt-in mails, pages and footers.';
comment on column access.projects.contact_email is
  'The address that readers may write to about their data; named beside the privacy policy.';

grant update (privacy_url, contact_email) on access.projects to mailwright_app;

-- Own texts in `pt` went to Brazilians and Portuguese alike: each goes on with them, by the same versions. What consents name
-- as `pt` stays.
insert into access.project_texts (project_id, locale, version, texts, created_at)
select t.project_id, l.locale, t.version, t.texts, t.created_at
from access.project_texts t cross join (values ('pt-BR'), ('pt-PT')) as l (locale)
where t.locale = 'pt';
