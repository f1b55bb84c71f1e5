-- What a subscriber's status follows from is said by libs/audience/src/consents/subscriber-status.ts alone.
drop function audience.derived_status(bigint, text, uuid);
