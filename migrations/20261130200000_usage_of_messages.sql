alter table messaging.messages add column usage_period timestamptz;
comment on column messaging.messages.usage_period is 'The billing period whose e-mails are reserved for it; null when they are not metered, or were counted as it was accepted.';
