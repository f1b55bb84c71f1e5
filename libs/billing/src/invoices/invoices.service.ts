import { Inject, Injectable } from '@nestjs/common';
import { Clock, newId, type ProjectScope } from '#kernel';
import { CONFIG, type Config, LinkTokens } from '#platform';
import {
  amountsOf,
  Invoice,
  type InvoiceDraft,
  type InvoiceLine,
  type InvoiceNumber,
  invoiceNumber,
  type InvoiceParty,
  type InvoiceSummary,
} from './invoice.js';
import { InvoiceRepository } from './invoice.repository.js';

const DAY_MS = 86_400_000;
const LINK_DAYS = 30;

type NewInvoice = Omit<InvoiceDraft, 'publicId' | 'externalId' | 'seller'> & {
  readonly tenantKey: string;
  readonly lines: readonly InvoiceLine[];
};

/** Issues invoices as the operator has configured them, and signs the addresses of their pages. */
@Injectable()
export class InvoicesService {
  readonly seller: InvoiceParty;

  constructor(
    private readonly invoices: InvoiceRepository,
    private readonly tokens: LinkTokens,
    private readonly clock: Clock,
    @Inject(CONFIG) private readonly config: Config,
  ) {
    this.seller = {
      name: config.INVOICE_SELLER_NAME,
      address: config.INVOICE_SELLER_ADDRESS?.replaceAll('|', '\n') ?? null,
      taxId: config.INVOICE_SELLER_TAX_ID ?? null,
    };
  }

  get paymentDays(): number {
    return this.config.INVOICE_PAYMENT_DAYS;
  }

  /** Issues an open invoice in the open transaction of the system; rolled back with it, so that no number is lost. */
  async issue({ lines, tenantKey, ...draft }: NewInvoice, now: Date): Promise<void> {
    const invoice = new Invoice({ ...draft, publicId: newId(), externalId: null, seller: this.seller }, now);
    invoice.bill(amountsOf(lines, Math.round(Number(this.config.INVOICE_TAX_RATE) * 100)));
    const number = await this.nextNumber({ id: draft.tenantId, tenantKey }, now);
    invoice.issue(number, now, new Date(now.getTime() + this.paymentDays * DAY_MS));
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

  /** Address of its page, valid for 30 days at least and the same all day long. Null for a draft, which has no page. */
  urlOf(scope: ProjectScope, invoice: Pick<InvoiceSummary, 'status' | 'publicId'>): string | null {
    if (invoice.status === 'DRAFT') return null;
    const today = Math.ceil(this.clock.now().getTime() / DAY_MS);
    const token = this.tokens.sign({
      kind: 'invoice',
      environmentId: scope.environmentId,
      id: invoice.publicId,
      expiresAt: new Date((today + LINK_DAYS) * DAY_MS),
    });
    return `${this.config.PUBLIC_URL}/i/${token}`;
  }
}
