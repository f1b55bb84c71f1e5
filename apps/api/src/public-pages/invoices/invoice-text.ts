import { dueCents, type Invoice, type InvoiceLine, type InvoiceParty } from '#billing';
import { formatMoney } from '#kernel';
import type { Wording, WordingKey } from '#wording';
import { formatsOf } from '../page-view.js';

/** The operator's settings for all invoices. */
export interface InvoiceSettings {
  /** The name of the tax, such as `VAT`. */
  readonly taxName: string;
  /** Payment instructions; null when not configured. */
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
function taxText({ taxRateBp }: Invoice, { taxName }: InvoiceSettings, wording: Wording): string {
  return `${taxName} ${formatsOf(wording).smallShare.format(taxRateBp / 10_000)}`;
}

/** Sums below the lines, the last one being what is to be paid. */
export function sumsOf(
  invoice: Invoice,
  settings: InvoiceSettings,
  wording: Wording,
): readonly { readonly name: string; readonly cents: number }[] {
  const { subtotalCents, taxCents, amountCents, balanceCents, creditedCents } = invoice;
  const reductions = [
    { name: wording.text('invoice.balance'), cents: balanceCents },
    { name: wording.text('invoice.credited'), cents: -creditedCents },
  ].filter(({ cents }) => cents !== 0);
  return [
    { name: wording.text('invoice.subtotal'), cents: subtotalCents },
    { name: taxText(invoice, settings, wording), cents: taxCents },
    { name: wording.text('invoice.total'), cents: amountCents },
    ...reductions,
    ...(reductions.length === 0 ? [] : [{ name: wording.text('invoice.toPay'), cents: dueCents(invoice) }]),
  ];
}

/** The state of the invoice in a sentence: its words, and their values. */
export function statusOf(invoice: Invoice, now: Date, wording: Wording) {
  const day = invoice.status === 'PAID' ? invoice.paidAt : invoice.dueAt;
  const values = { amount: amountOf(invoice, dueCents(invoice), wording), date: dayOf(day, wording) };
  return { key: statusKey(invoice, now), values };
}

function statusKey(invoice: Invoice, now: Date): WordingKey {
  switch (invoice.status) {
    case 'PAID':
      return 'invoice.standing.paid';
    case 'VOID':
      return 'invoice.standing.void';
    case 'UNCOLLECTIBLE':
      return 'invoice.standing.uncollectible';
    case 'OPEN':
    case 'DRAFT':
      return isOverdue(invoice, now) ? 'invoice.standing.overdue' : 'invoice.standing.open';
  }
}

export function isOverdue({ status, dueAt }: Invoice, now: Date): boolean {
  return status === 'OPEN' && dueAt !== null && dueAt <= now;
}

/** True while somebody should still pay it. */
export function isToPay({ status }: Invoice): boolean {
  return status === 'OPEN' || status === 'UNCOLLECTIBLE';
}
