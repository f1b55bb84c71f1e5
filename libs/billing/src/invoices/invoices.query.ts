import { Injectable } from '@nestjs/common';
import type { Page, PageRequest, ProjectScope } from '#kernel';
import { Database, ListOrder } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import type { InvoiceDocument, InvoiceSummary } from './invoice.js';

export const SUMMARY = [
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

/** Reads invoices. */
@Injectable()
export class InvoicesQuery {
  constructor(private readonly database: Database) {}

  /** Those of the scope's tenant, newest first. */
  page(scope: ProjectScope, request: PageRequest): Promise<Page<InvoiceSummary>> {
    return this.database.list(scope, async () => {
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
}
