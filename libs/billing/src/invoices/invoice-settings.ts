import type { InvoiceParty } from './invoice.js';

/** What the operator has said about invoices. */
export interface InvoiceSettings {
  readonly seller: InvoiceParty;
  /** Hundredths of a percent. */
  readonly taxRateBp: number;
  readonly paymentDays: number;
}

interface Variables {
  readonly INVOICE_SELLER_NAME: string;
  readonly INVOICE_SELLER_ADDRESS?: string | undefined;
  readonly INVOICE_SELLER_TAX_ID?: string | undefined;
  readonly INVOICE_TAX_RATE: string;
  readonly INVOICE_PAYMENT_DAYS: number;
}

export function invoiceSettings(variables: Variables): InvoiceSettings {
  return {
    seller: {
      name: variables.INVOICE_SELLER_NAME,
      address: variables.INVOICE_SELLER_ADDRESS?.replaceAll('|', '\n') ?? null,
      taxId: variables.INVOICE_SELLER_TAX_ID ?? null,
    },
    taxRateBp: Math.round(Number(variables.INVOICE_TAX_RATE) * 100),
    paymentDays: variables.INVOICE_PAYMENT_DAYS,
  };
}
