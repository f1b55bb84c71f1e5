import { Injectable } from '@nestjs/common';
import { TenantsService } from '#access';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database, ListOrder } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import type { InvoiceDocument, InvoiceStatus, InvoiceSummary } from './invoice.js';
import { InvoicesService } from './invoices.service.js';

const SUMMARY = [
  'id',
  'publicId',
  'externalId',
  'status',
  'billingReason',
  'currency',
  'amountCents',
  'invoiceNumber',
  'dueAt',
  'paidAt',
  'createdAt',
] as const;

const LATEST_FIRST = new ListOrder([
  ['created_at', 'timestamptz'],
  ['id', 'bigint'],
]);

/** An invoice as the operator's list shows it. */
export interface ListedInvoice extends Omit<InvoiceSummary, 'publicId'> {
  /** Null for a draft, and while its tenant has no project. */
  readonly invoiceUrl: string | null;
}

/** Reads invoices. */
@Injectable()
export class InvoicesQuery {
  constructor(
    private readonly database: Database,
    private readonly tenants: TenantsService,
    private readonly invoices: InvoicesService,
  ) {}

  /** The invoices of the scope's tenant, newest first. */
  page(scope: ProjectScope, request: PageRequest): Promise<Page<InvoiceSummary>> {
    return this.database.read(scope, { isList: true }, async () => {
      const invoices = this.database
        .tables<BillingTables>()
        .selectFrom('billing.invoices')
        .where('tenantId', '=', scope.tenantId);
      return LATEST_FIRST.page(invoices.select(SUMMARY), invoices, request);
    });
  }

  /** The invoice that a signed link names, or null. */
  byPublicId(scope: ProjectScope, publicId: string): Promise<InvoiceDocument | null> {
    return this.database.transaction(scope, async () => {
      const tables = this.database.tables<BillingTables>();
      const invoice = await tables
        .selectFrom('billing.invoices')
        .select([...SUMMARY, 'subtotalCents', 'taxRateBp', 'taxCents', 'seller', 'buyer', 'issuedAt'])
        .select(['balanceCents', 'creditedCents'])
        .where('tenantId', '=', scope.tenantId)
        .where('publicId', '=', publicId)
        .executeTakeFirst();
      if (invoice === undefined) return null;
      const lines = await tables
        .selectFrom('billing.invoice_lines')
        .select(['description', 'amountCents', 'periodStart', 'periodEnd'])
        .where('invoiceId', '=', invoice.id)
        .orderBy('position')
        .execute();
      return { ...invoice, lines };
    });
  }

  /** A tenant's invoices for the operator, newest first. */
  async ofTenant(tenantId: number, status?: InvoiceStatus): Promise<ListedInvoice[]> {
    const rows = await this.database.system(() =>
      this.#ofTenant(tenantId, status)
        .select(SUMMARY)
        .orderBy('createdAt', 'desc')
        .orderBy('id', 'desc')
        .execute(),
    );
    return this.#listed(tenantId, rows);
  }

  /** A page of them. */
  async pageOfTenant(
    tenantId: number,
    status: InvoiceStatus | undefined,
    request: PageRequest,
  ): Promise<Page<ListedInvoice>> {
    const page = await this.database.system(() => {
      const invoices = this.#ofTenant(tenantId, status);
      return LATEST_FIRST.page(invoices.select(SUMMARY), invoices, request);
    });
    return { ...page, items: await this.#listed(tenantId, page.items) };
  }

  #ofTenant(tenantId: number, status: InvoiceStatus | undefined) {
    const invoices = this.database
      .tables<BillingTables>()
      .selectFrom('billing.invoices')
      .where('tenantId', '=', tenantId);
    return status === undefined ? invoices : invoices.where('status', '=', status);
  }

  async #listed(tenantId: number, rows: readonly InvoiceSummary[]): Promise<ListedInvoice[]> {
    const scope = await this.tenants.firstEnvironment(tenantId);
    return rows.map(({ publicId, ...invoice }) => ({
      ...invoice,
      invoiceUrl: scope === null ? null : this.invoices.urlOf(scope, { publicId, status: invoice.status }),
    }));
  }
}
