import { defineEvent } from '#kernel';

/** A project or the schedule wants to know whether a host for links points here; the worker is to look. */
export const TrackingHostCheckRequested = defineEvent<{ host: string }>(
  'access.tracking_host_check_requested.v1',
);
