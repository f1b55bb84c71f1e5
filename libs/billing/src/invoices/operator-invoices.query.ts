import { Injectable } from '@nestjs/common';
import { TenantsQuery } from '#access';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { InvoiceLinks } from './invoice-links.service.js';
import { SUMMARY } from './invoices.query.js';
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
    private readonly database: Database,
    private readonly tenants: TenantsQuery,
    private readonly links: InvoiceLinks,
  ) {}

  /** Those of one tenant, newest first. */
  async ofTenant(tenantId: number, status?: InvoiceStatus): Promise<ListedInvoice[]> {
    const scope = await this.tenants.firstEnvironment(tenantId);
    const rows = await this.database.system(() => {
      const ofTenant = this.database
        .tables<BillingTables>()
        .selectFrom('billing.invoices')
        .select(SUMMARY)
        .where('tenantId', '=', tenantId)
        .orderBy('createdAt', 'desc')
        .orderBy('id', 'desc');
      return (status === undefined ? ofTenant : ofTenant.where('status', '=', status)).execute();
    });
    return rows.map(({ publicId, ...invoice }) => ({
      ...invoice,
      invoiceUrl: scope === null ? null : this.links.urlOf(scope, { publicId, status: invoice.status }),
    }));
  }
}
