/** `ACME-2026-000001`: whose, of which year (UTC), and which of that year. */
export function invoiceNumber(tenantKey: string, year: number, number: number): string {
  return `${tenantKey}-${year}-${String(number).padStart(6, '0')}`;
}
