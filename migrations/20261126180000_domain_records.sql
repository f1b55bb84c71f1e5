alter table deliverability.dns_records add previous_value text;
comment on column deliverability.dns_records.previous_value is
  'Expected before BOUNCE_HOST or SPF_INCLUDE changed; null once the new value was found.';
