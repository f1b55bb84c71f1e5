import { toCsv } from './report-csv.js';

/** A recipient's row of the report. */
export interface DeliveryReportRow {
  readonly subscriberId: string | null;
  readonly email: string;
  readonly status: string;
  readonly reason: string | null;
  readonly attempts: number;
  readonly possibleDuplicate: boolean;
  readonly lastError: string | null;
  readonly messageId: string;
  readonly sentAt: Date | null;
  readonly bouncedAt: Date | null;
  readonly bounceType: string | null;
  readonly opens: number;
  readonly firstOpenedAt: Date | null;
  readonly clicks: number;
  readonly firstClickedAt: Date | null;
  readonly unsubscribedAt: Date | null;
  readonly complainedAt: Date | null;
  readonly locale: string | null;
}

const COLUMNS = [
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
] as const satisfies readonly (keyof DeliveryReportRow)[];

/** The header's line. */
export const DELIVERIES_CSV_HEADER = toCsv([COLUMNS]);

/** A line a recipient, as RFC 4180 with CRLF; text that a spreadsheet would run is neutralised. */
export function deliveriesCsv(rows: readonly DeliveryReportRow[]): string {
  return toCsv(rows.map((row) => COLUMNS.map((column) => cell(row[column]))));
}

function cell(value: string | number | boolean | Date | null): string | number | null {
  if (value instanceof Date) return value.toISOString();
  return typeof value === 'boolean' ? String(value) : value;
}
