import { Inject, Injectable } from '@nestjs/common';
import { type RawBuilder, sql } from 'kysely';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database, type Sql } from '#platform';
import type { Invoice, InvoiceLine, InvoiceSummary } from './invoice.js';

type InvoiceRow = Omit<Invoice, 'lines'>;

const SUMMARY = sql`i.id, i.public_id as "publicId", i.external_id as "externalId", i.status,
  i.billing_reason as "billingReason", i.currency, i.amount_cents as "amountCents",
  i.invoice_number as "invoiceNumber", i.due_at as "dueAt", i.paid_at as "paidAt", i.created_at as "createdAt"`;

/** Reads invoices. */
@Injectable()
export class InvoicesQuery {
  constructor(@Inject(Database) private readonly database: Database) {}

  /** Those of the scope's tenant, newest first. */
  page(scope: ProjectScope, { page, size }: PageRequest): Promise<Page<InvoiceSummary>> {
    return this.database.transaction(scope, async ({ db }) => {
      const { rows } = await sql<InvoiceSummary>`
        select ${SUMMARY} from billing.invoices i where i.tenant_id = ${scope.tenantId}
        order by i.created_at desc, i.id desc limit ${size} offset ${page * size}
      `.execute(db);
      const total = await sql<{ count: number }>`
        select count(*) as count from billing.invoices i where i.tenant_id = ${scope.tenantId}
      `.execute(db);
      return { items: rows, totalElements: total.rows[0]?.count ?? 0 };
    });
  }

  /** The invoice that a signed link names, or null. */
  byPublicId(scope: ProjectScope, publicId: string): Promise<Invoice | null> {
    return this.database.transaction(scope, ({ db }) =>
      invoiceWhere(db, sql`i.tenant_id = ${scope.tenantId} and i.public_id = ${publicId}`),
    );
  }
}

/** One whole invoice, or null. */
export async function invoiceWhere(db: Sql, condition: RawBuilder<unknown>): Promise<Invoice | null> {
  const { rows } = await sql<InvoiceRow>`
    select ${SUMMARY}, i.subtotal_cents as "subtotalCents", i.tax_rate_bp as "taxRateBp", i.tax_cents as "taxCents",
      i.seller, i.buyer, i.issued_at as "issuedAt"
    from billing.invoices i where ${condition}
  `.execute(db);
  if (rows[0] === undefined) return null;
  const lines = await sql<InvoiceLine>`
    select l.description, l.amount_cents as "amountCents", l.period_start as "periodStart", l.period_end as "periodEnd"
    from billing.invoice_lines l where l.invoice_id = ${rows[0].id} order by l.position
  `.execute(db);
  return { ...rows[0], lines: lines.rows };
}
