-- Files of addresses to suppress: the reason of rows that name none; null for imports of subscribers.
alter table audience.imports add column suppression_reason text;
