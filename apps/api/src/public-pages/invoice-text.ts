import type { Invoice, InvoiceLine, InvoiceParty } from '#billing';
import { formatMoney } from '#kernel';

/** The operator's settings for all invoices. */
export interface InvoiceWording {
  /** The name of the tax, such as `VAT`. */
  readonly taxName: string;
  /** How to pay; null when not configured. */
  readonly paymentNote: string | null;
}

const DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'long', timeZone: 'UTC' });
const SHORT_DAY = new Intl.DateTimeFormat('en-GB', { dateStyle: 'medium', timeZone: 'UTC' });

/** `31 January 2026`, in UTC. */
export function dayOf(moment: Date | null): string {
  return moment === null ? '–' : DAY.format(moment);
}

export function amountOf({ currency }: Invoice, minorUnits: number): string {
  return formatMoney(minorUnits, currency);
}

/** Name, address and tax number, each on lines of its own. */
export function partyText({ name, address, taxId }: InvoiceParty): string {
  return [name, address, taxId].filter((part) => part !== null).join('\n');
}

export function spanOf({ periodStart, periodEnd }: InvoiceLine): string {
  return `${SHORT_DAY.format(periodStart)} – ${SHORT_DAY.format(periodEnd)}`;
}

/** `VAT 8.1 %` */
export function taxText({ taxRateBp }: Invoice, { taxName }: InvoiceWording): string {
  return `${taxName} ${taxRateBp / 100} %`;
}

/** The state of the invoice in a sentence. */
export function standingOf(invoice: Invoice, now: Date): string {
  const amount = amountOf(invoice, invoice.amountCents);
  switch (invoice.status) {
    case 'PAID':
      return `${amount} paid on ${dayOf(invoice.paidAt)}`;
    case 'VOID':
      return 'This invoice was withdrawn. Nothing is to be paid.';
    case 'UNCOLLECTIBLE':
      return `${amount} was due on ${dayOf(invoice.dueAt)} and was not paid`;
    case 'OPEN':
    case 'DRAFT':
      return isOverdue(invoice, now)
        ? `${amount} overdue since ${dayOf(invoice.dueAt)}`
        : `${amount} due on ${dayOf(invoice.dueAt)}`;
  }
}

export function isOverdue({ status, dueAt }: Invoice, now: Date): boolean {
  return status === 'OPEN' && dueAt !== null && dueAt <= now;
}

/** Whether somebody should still pay it. */
export function isToPay({ status }: Invoice): boolean {
  return status === 'OPEN' || status === 'UNCOLLECTIBLE';
}
