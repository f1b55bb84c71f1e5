import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantsQuery } from '#access';
import { newId, NotFoundError } from '#kernel';
import type { Sql } from '#platform';
import { insertLines, InvoiceIssuing, nextNumber } from '../invoices/invoice-issuing.service.js';
import { invoiceNumber } from '../invoices/invoice-number.js';
import type { BillingReason, InvoiceLine, InvoiceStatus } from '../invoices/invoice.js';
import type { OpenSubscription } from '../subscriptions/subscription-accounts.service.js';

/** An invoice as Stripe has it. */
export interface OutsideInvoice {
  readonly externalId: string;
  readonly status: InvoiceStatus;
  readonly reason: BillingReason;
  readonly currency: string;
  readonly lines: readonly InvoiceLine[];
  readonly taxCents: number;
  readonly createdAt: Date;
  readonly issuedAt: Date;
  readonly dueAt: Date | null;
  readonly paidAt: Date | null;
}

/** Keeps our copies of Stripe's invoices, under our numbers. */
@Injectable()
export class StripeInvoices {
  constructor(
    @Inject(InvoiceIssuing) private readonly issuing: InvoiceIssuing,
    @Inject(TenantsQuery) private readonly tenants: TenantsQuery,
  ) {}

  /** Makes our copy what the invoice is; it gets its number when it is no longer a draft. */
  async save(open: OpenSubscription, invoice: OutsideInvoice): Promise<void> {
    const { db, now } = open;
    const id = await this.#upsertDraft(open, invoice);
    if (invoice.status === 'DRAFT') return;
    await this.#finalize(open, id, invoice);
    await sql`
      update billing.invoices set status = ${invoice.status}, updated_at = ${now},
        paid_at = ${invoice.status === 'PAID' ? (invoice.paidAt ?? now) : null}
      where id = ${id}
    `.execute(db);
  }

  async #upsertDraft(
    { db, tenantId, id, now, buyer }: OpenSubscription,
    invoice: OutsideInvoice,
  ): Promise<number> {
    const tenant = await this.tenants.find(tenantId);
    if (tenant === null) throw new NotFoundError();
    const party = { name: buyer.name ?? tenant.name, address: buyer.address, taxId: buyer.taxId };
    const subtotal = invoice.lines.reduce((sum, { amountCents }) => sum + amountCents, 0);
    const taxRateBp =
      subtotal <= 0 ? 0 : Math.min(10_000, Math.round((invoice.taxCents * 10_000) / subtotal));
    const { rows } = await sql<{ id: number }>`
      insert into billing.invoices as i (public_id, external_id, tenant_id, subscription_id, status, billing_reason,
        currency, subtotal_cents, tax_rate_bp, tax_cents, amount_cents, seller, buyer, created_at, updated_at)
      values (${newId()}, ${invoice.externalId}, ${tenantId}, ${id}, 'DRAFT', ${invoice.reason}, ${invoice.currency},
        ${subtotal}, ${taxRateBp}, ${invoice.taxCents}, ${subtotal + invoice.taxCents},
        ${JSON.stringify(this.issuing.seller)}, ${JSON.stringify(party)}, ${invoice.createdAt}, ${now})
      on conflict (external_id) do update set
        subtotal_cents = case when i.status = 'DRAFT' then excluded.subtotal_cents else i.subtotal_cents end,
        tax_rate_bp = case when i.status = 'DRAFT' then excluded.tax_rate_bp else i.tax_rate_bp end,
        tax_cents = case when i.status = 'DRAFT' then excluded.tax_cents else i.tax_cents end,
        amount_cents = case when i.status = 'DRAFT' then excluded.amount_cents else i.amount_cents end
      returning i.id
    `.execute(db);
    if (rows[0] === undefined) throw new Error('The invoice was not kept.');
    return rows[0].id;
  }

  /** Once: its number, its dates and its lines. */
  async #finalize({ db, tenantId }: OpenSubscription, id: number, invoice: OutsideInvoice): Promise<void> {
    if (!(await isDraft(db, id))) return;
    const tenant = await this.tenants.find(tenantId);
    if (tenant === null) throw new NotFoundError();
    const year = invoice.issuedAt.getUTCFullYear();
    const number = await nextNumber(db, tenantId, year);
    await sql`
      update billing.invoices set status = 'OPEN', number_year = ${year}, number = ${number},
        invoice_number = ${invoiceNumber(tenant.tenantKey, year, number)}, issued_at = ${invoice.issuedAt},
        due_at = ${invoice.dueAt ?? invoice.issuedAt}
      where id = ${id}
    `.execute(db);
    await insertLines(db, id, { tenantId, lines: invoice.lines });
  }
}

async function isDraft(db: Sql, id: number): Promise<boolean> {
  const { rows } = await sql`select from billing.invoices where id = ${id} and status = 'DRAFT'`.execute(db);
  return rows.length > 0;
}
