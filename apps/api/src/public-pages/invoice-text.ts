import type { Invoice, InvoiceLine, InvoiceParty } from '#billing';
import { formatMoney } from '#kernel';
import type { Wording } from '#wording';
import { formatsOf } from './page-formats.js';

/** The operator's settings for all invoices. */
export interface InvoiceSettings {
  /** The name of the tax, such as `VAT`. */
  readonly taxName: string;
  /** How to pay; null when not configured. */
  readonly paymentNote: string | null;
}

/** `31 January 2026`, in UTC. */
export function dayOf(moment: Date | null, wording: Wording): string {
  return moment === null ? '–' : formatsOf(wording).day.format(moment);
}

export function amountOf({ currency }: Invoice, minorUnits: number, { locale }: Wording): string {
  return formatMoney(minorUnits, currency, locale);
}

/** Name, address and tax number, each on lines of its own. */
export function partyText({ name, address, taxId }: InvoiceParty): string {
  return [name, address, taxId].filter((part) => part !== null).join('\n');
}

export function spanOf({ periodStart, periodEnd }: InvoiceLine, wording: Wording): string {
  const { shortDay } = formatsOf(wording);
  return `${shortDay.format(periodStart)} – ${shortDay.format(periodEnd)}`;
}

/** `VAT 8.1 %` */
export function taxText({ taxRateBp }: Invoice, { taxName }: InvoiceSettings, wording: Wording): string {
  return `${taxName} ${formatsOf(wording).smallShare.format(taxRateBp / 10_000)}`;
}

/** The state of the invoice in a sentence. */
export function standingOf(invoice: Invoice, now: Date, wording: Wording): string {
  const amount = amountOf(invoice, invoice.amountCents, wording);
  const due = { amount, date: dayOf(invoice.dueAt, wording) };
  switch (invoice.status) {
    case 'PAID':
      return wording.text('invoice.standing.paid', { amount, date: dayOf(invoice.paidAt, wording) });
    case 'VOID':
      return wording.text('invoice.standing.void');
    case 'UNCOLLECTIBLE':
      return wording.text('invoice.standing.uncollectible', due);
    case 'OPEN':
    case 'DRAFT':
      return wording.text(
        isOverdue(invoice, now) ? 'invoice.standing.overdue' : 'invoice.standing.open',
        due,
      );
  }
}

export function isOverdue({ status, dueAt }: Invoice, now: Date): boolean {
  return status === 'OPEN' && dueAt !== null && dueAt <= now;
}

/** Whether somebody should still pay it. */
export function isToPay({ status }: Invoice): boolean {
  return status === 'OPEN' || status === 'UNCOLLECTIBLE';
}
