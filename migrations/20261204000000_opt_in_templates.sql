-- The template of kind OPT_IN that a topic's confirmation mails are made of; null: ours.
alter table audience.topics add column opt_in_template_key text;
