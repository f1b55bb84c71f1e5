alter table messaging.exports add column is_masked boolean not null default false;
comment on column messaging.exports.is_masked is 'Addresses in the file are masked: the key may not see subscribers.';
