import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { newId } from '#kernel';
import { type Config, CONFIG, type Sql } from '#platform';
import { amountsOf } from './invoice-amounts.js';
import { invoiceNumber } from './invoice-number.js';
import { type InvoiceSettings, invoiceSettings } from './invoice-settings.js';
import type { BillingReason, InvoiceLine, InvoiceParty } from './invoice.js';

const DAY_MS = 86_400_000;

export interface NewInvoice {
  readonly tenantId: number;
  readonly tenantKey: string;
  readonly subscriptionId: number;
  readonly buyer: InvoiceParty;
  readonly reason: BillingReason;
  readonly currency: string;
  readonly lines: readonly InvoiceLine[];
}

/** Makes invoices out. */
@Injectable()
export class InvoiceIssuing {
  readonly #settings: InvoiceSettings;

  constructor(@Inject(CONFIG) config: Config) {
    this.#settings = invoiceSettings(config);
  }

  get seller(): InvoiceSettings['seller'] {
    return this.#settings.seller;
  }

  get paymentDays(): number {
    return this.#settings.paymentDays;
  }

  /**
   * An open invoice with the next number of its tenant's year, in the caller's transaction of the system: rolled
   * back with it, so that no number is lost. Until that ends, the tenant's next invoice waits. Resolves to its id.
   */
  async issue(db: Sql, invoice: NewInvoice, now: Date): Promise<number> {
    const { seller, taxRateBp, paymentDays } = this.#settings;
    const year = now.getUTCFullYear();
    const number = await nextNumber(db, invoice.tenantId, year);
    const { subtotalCents, taxCents, amountCents } = amountsOf(invoice.lines, taxRateBp);
    const dueAt = new Date(now.getTime() + paymentDays * DAY_MS);
    const { rows } = await sql<{ id: number }>`
      insert into billing.invoices (public_id, tenant_id, subscription_id, status, billing_reason, currency,
        subtotal_cents, tax_rate_bp, tax_cents, amount_cents, number_year, number, invoice_number, seller, buyer,
        issued_at, due_at, created_at, updated_at)
      values (${newId()}, ${invoice.tenantId}, ${invoice.subscriptionId}, 'OPEN', ${invoice.reason},
        ${invoice.currency}, ${subtotalCents}, ${taxRateBp}, ${taxCents}, ${amountCents}, ${year}, ${number},
        ${invoiceNumber(invoice.tenantKey, year, number)}, ${JSON.stringify(seller)}, ${JSON.stringify(invoice.buyer)},
        ${now}, ${dueAt}, ${now}, ${now})
      returning id
    `.execute(db);
    const id = rows[0]?.id;
    if (id === undefined) throw new Error('The invoice was not made.');
    await insertLines(db, id, invoice);
    return id;
  }
}

/** The next number of a tenant's year, in the caller's transaction. */
export async function nextNumber(db: Sql, tenantId: number, year: number): Promise<number> {
  const { rows } = await sql<{ number: number }>`
    insert into billing.invoice_numbers as n (tenant_id, year, last_number) values (${tenantId}, ${year}, 1)
    on conflict (tenant_id, year) do update set last_number = n.last_number + 1
    returning last_number as number
  `.execute(db);
  if (rows[0] === undefined) throw new Error('No invoice number was given.');
  return rows[0].number;
}

export async function insertLines(
  db: Sql,
  invoiceId: number,
  { tenantId, lines }: Pick<NewInvoice, 'tenantId' | 'lines'>,
): Promise<void> {
  await sql`
    insert into billing.invoice_lines (invoice_id, position, tenant_id, description, amount_cents, period_start, period_end)
    select ${invoiceId}, l.position, ${tenantId}, l.description, l.amount, l.start, l.end
    from unnest(${lines.map(({ description }) => description)}::text[],
      ${lines.map(({ amountCents }) => amountCents)}::bigint[],
      ${lines.map(({ periodStart }) => periodStart.toISOString())}::timestamptz[],
      ${lines.map(({ periodEnd }) => periodEnd.toISOString())}::timestamptz[])
      with ordinality as l(description, amount, start, "end", position)
  `.execute(db);
}
