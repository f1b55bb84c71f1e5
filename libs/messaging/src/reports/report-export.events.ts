import { defineEvent } from '#kernel';

/** A client waits for a file; the worker is to make it. */
export const ReportExportRequested = defineEvent<{ exportId: string }>(
  'messaging.report_export_requested.v1',
);
