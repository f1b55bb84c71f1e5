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
  const values = STATISTICS_COLUMNS.map((column) => cell(statistics[column]));
  return toCsv([
    ['campaignKey', 'name', 'status', ...STATISTICS_COLUMNS],
    [campaignKey, name, status, ...values],
  ]);
}

export function toCsv(rows: readonly (readonly (string | number | null)[])[]): string {
  return stringify(
    rows.map((row) => row.map(neutral)),
    // RFC 4180 §2.6: a lone CR or LF is quoted too, else what follows it would be a row, and could be a formula.
    { record_delimiter: 'windows', quoted_match: /[\r\n]/ },
  );
}

function cell(value: string | number | Date | null): string | number | null {
  return value instanceof Date ? value.toISOString() : value;
}

/** A leading = + - @, tab or line break begins a formula in spreadsheets: an apostrophe makes it text. */
function neutral(value: string | number | null): string | number | null {
  return typeof value === 'string' && /^[=+\-@\t\r\n]/.test(value) ? `'${value}` : value;
}
