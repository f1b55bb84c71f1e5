import { Inject, Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { TenantsQuery } from '#access';
import { Database } from '#platform';
import { InvoiceLinks } from './invoice-links.service.js';
import type { InvoiceStatus, InvoiceSummary } from './invoice.js';

/** An invoice as the operator's list shows it. */
export interface ListedInvoice extends Omit<InvoiceSummary, 'publicId'> {
  /** Null for a draft, and while its tenant has no project. */
  readonly invoiceUrl: string | null;
}

/** Lists invoices for the operator. */
@Injectable()
export class OperatorInvoicesQuery {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(TenantsQuery) private readonly tenants: TenantsQuery,
    @Inject(InvoiceLinks) private readonly links: InvoiceLinks,
  ) {}

  /** Those of one tenant, newest first. */
  async ofTenant(tenantId: number, status?: InvoiceStatus): Promise<ListedInvoice[]> {
    const scope = await this.tenants.firstEnvironment(tenantId);
    const rows = await this.database.system(({ db }) =>
      sql<InvoiceSummary>`
        select id, public_id as "publicId", external_id as "externalId", status, billing_reason as "billingReason",
          currency, amount_cents as "amountCents", invoice_number as "invoiceNumber", due_at as "dueAt",
          paid_at as "paidAt", created_at as "createdAt"
        from billing.invoices
        where tenant_id = ${tenantId} and (${status ?? null}::text is null or status = ${status ?? null})
        order by created_at desc, id desc
      `.execute(db),
    );
    return rows.rows.map(({ publicId, ...invoice }) => ({
      ...invoice,
      invoiceUrl: scope === null ? null : this.links.urlOf(scope, { publicId, status: invoice.status }),
    }));
  }
}
