import { defineEvent } from '#kernel';

/** A client waits for a file; the worker is to make it. */
export const ReportExportRequested = defineEvent<{ exportId: string }>(
  'messaging.report_export_requested.v1',
);

/** A client waits for a file with a row for each recipient, which comes in parts. */
export const DeliveriesExportRequested = defineEvent<{ exportId: string }>(
  'messaging.deliveries_export_requested.v1',
);
