import { stringify } from 'csv-stringify/sync';
import type { ReportedCampaign } from '../statistics/campaign-statistics.query.js';

/** The statistics fields in the order of the report's columns. */
const STATISTICS_COLUMNS = [
  'totalSent',
  'totalDelivered',
  'totalBounced',
  'hardBounced',
  'softBounced',
  'totalOpened',
  'uniqueOpens',
  'totalClicked',
  'uniqueClicks',
  'totalUnsubscribed',
  'spamComplaints',
  'deliveryRate',
  'openRate',
  'clickThroughRate',
  'clickToOpenRate',
  'unsubscribeRate',
  'bounceRate',
  'engagementScore',
  'collectedAt',
  'lastUpdatedAt',
  'completedAt',
] as const;

/** One header and one row: RFC 4180, CRLF. Text that a spreadsheet would run as a formula is neutralised. */
export function statisticsCsv({ campaignKey, name, status, statistics }: ReportedCampaign): string {
  const values = STATISTICS_COLUMNS.map((column) => statistics[column]);
  return toCsv([
    ['campaignKey', 'name', 'status', ...STATISTICS_COLUMNS],
    [campaignKey, name, status, ...values],
  ]);
}

/** The fields of a recipient in the order of the columns. */
export const DELIVERY_COLUMNS = [
  'subscriberId',
  'email',
  'status',
  'reason',
  'attempts',
  'possibleDuplicate',
  'lastError',
  'messageId',
  'sentAt',
  'bouncedAt',
  'bounceType',
  'opens',
  'firstOpenedAt',
  'clicks',
  'firstClickedAt',
  'unsubscribedAt',
  'complainedAt',
  'locale',
] as const;

type Cell = string | number | boolean | Date | null;

/** A recipient's row of the report. */
export type DeliveryReportRow = Readonly<Record<(typeof DELIVERY_COLUMNS)[number], Cell>>;

/** The header's line. */
export const DELIVERIES_CSV_HEADER = toCsv([DELIVERY_COLUMNS]);

/** A line a recipient, as RFC 4180 with CRLF; text that a spreadsheet would run is neutralised. */
export function deliveriesCsv(rows: readonly DeliveryReportRow[]): string {
  return toCsv(rows.map((row) => DELIVERY_COLUMNS.map((column) => row[column])));
}

export function toCsv(rows: readonly (readonly Cell[])[]): string {
  return written(rows, cell);
}

/** CSV to be read again by a program: cells are as they are, also those that a spreadsheet would run. */
export function toImportableCsv(rows: readonly (readonly Cell[])[]): string {
  return written(rows, plainCell);
}

function written(rows: readonly (readonly Cell[])[], write: typeof cell): string {
  return stringify(
    rows.map((row) => row.map(write)),
    // RFC 4180 §2.6: a lone CR or LF is quoted too, else what follows it would be a row, and could be a formula.
    { record_delimiter: 'windows', quoted_match: /[\r\n]/ },
  );
}

/** A leading = + - @, tab or line break begins a formula in spreadsheets: an apostrophe makes it text. */
function cell(given: Cell): string | number | null {
  const value = plainCell(given);
  return typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
}

function plainCell(value: Cell): string | number | null {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'boolean' ? String(value) : value;
}
