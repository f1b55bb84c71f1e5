import { Inject, Injectable } from '@nestjs/common';
import { newId } from '#kernel';
import { type Config, CONFIG } from '#platform';
import { amountsOf } from './invoice-amounts.js';
import { invoiceNumber } from './invoice-number.js';
import { InvoiceRepository } from './invoice.repository.js';
import { type InvoiceSettings, invoiceSettings } from './invoice-settings.js';
import { Invoice, type InvoiceDraft, type InvoiceLine, type InvoiceNumber } from './invoice.js';

const DAY_MS = 86_400_000;

type NewInvoice = Omit<InvoiceDraft, 'publicId' | 'externalId' | 'seller'> & {
  readonly tenantKey: string;
  readonly lines: readonly InvoiceLine[];
};

/** Makes invoices out, in the open transaction of the system. */
@Injectable()
export class InvoiceIssuing {
  readonly #settings: InvoiceSettings;

  constructor(
    private readonly invoices: InvoiceRepository,
    @Inject(CONFIG) config: Config,
  ) {
    this.#settings = invoiceSettings(config);
  }

  get seller(): InvoiceSettings['seller'] {
    return this.#settings.seller;
  }

  get paymentDays(): number {
    return this.#settings.paymentDays;
  }

  /**
   * An open invoice with the next number of its tenant's year: rolled back with the transaction, so that no number is
   * lost.
   */
  async issue({ lines, tenantKey, ...draft }: NewInvoice, now: Date): Promise<void> {
    const { seller, taxRateBp, paymentDays } = this.#settings;
    const invoice = new Invoice({ ...draft, publicId: newId(), externalId: null, seller }, now);
    invoice.bill(amountsOf(lines, taxRateBp));
    const number = await this.nextNumber({ id: draft.tenantId, tenantKey }, now);
    invoice.issue(number, now, new Date(now.getTime() + paymentDays * DAY_MS));
    await this.invoices.add(invoice, lines);
  }

  /** The next number of a tenant in the year (UTC) of `issuedAt`. Until the transaction ends, its next invoice waits. */
  async nextNumber(
    tenant: { readonly id: number; readonly tenantKey: string },
    issuedAt: Date,
  ): Promise<InvoiceNumber> {
    const year = issuedAt.getUTCFullYear();
    const number = await this.invoices.nextNumber(tenant.id, year);
    return { year, number, text: invoiceNumber(tenant.tenantKey, year, number) };
  }
}
