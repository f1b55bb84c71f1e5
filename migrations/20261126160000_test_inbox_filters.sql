-- A message of one address, or of a rare kind, is found without reading the whole inbox.
create index test_inbox_to on messaging.test_inbox_messages (environment_id, to_key, received_at desc, id desc);
create index test_inbox_of_kind on messaging.test_inbox_messages (environment_id, kind, received_at desc, id desc);
