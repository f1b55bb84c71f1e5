import { LockMode } from '@mikro-orm/postgresql';
import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import { Database } from '#platform';
import type { BillingTables } from '../billing-tables.js';
import { Invoice, type InvoiceLine, type InvoiceStatus } from './invoice.js';

/** Reads and writes invoices in the open transaction of the system. */
@Injectable()
export class InvoiceRepository {
  constructor(private readonly database: Database) {}

  /** The next number of a tenant's year. Until the transaction ends, the tenant's next invoice waits. */
  async nextNumber(tenantId: number, year: number): Promise<number> {
    const { lastNumber } = await this.database
      .tables<BillingTables>()
      .insertInto('billing.invoice_numbers')
      .values({ tenantId, year, lastNumber: 1 })
      .onConflict((conflict) =>
        conflict
          .columns(['tenantId', 'year'])
          .doUpdateSet(({ eb }) => ({ lastNumber: eb('billing.invoice_numbers.lastNumber', '+', 1) })),
      )
      .returning('lastNumber')
      .executeTakeFirstOrThrow();
    return lastNumber;
  }

  /** Writes an invoice, with its lines once it is no draft. */
  async add(invoice: Invoice, lines: readonly InvoiceLine[] = []): Promise<void> {
    await this.database.em.persist(invoice).flush();
    if (lines.length === 0) return;
    const { id: invoiceId, tenantId } = invoice;
    await this.database
      .tables<BillingTables>()
      .insertInto('billing.invoice_lines')
      .values(lines.map((line, index) => ({ ...line, invoiceId, tenantId, position: index + 1 })))
      .execute();
  }

  /** Our copy of a payment provider's invoice, locked until the transaction ends; null when there is none. */
  lockCopy(externalId: string): Promise<Invoice | null> {
    return this.database.em.findOne(Invoice, { externalId }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  }

  /** An invoice by its number, locked until the transaction ends; null when there is none. */
  lock(invoiceNumber: string): Promise<Invoice | null> {
    return this.database.em.findOne(Invoice, { invoiceNumber }, { lockMode: LockMode.PESSIMISTIC_WRITE });
  }

  async tenantOf(invoiceNumber: string): Promise<number | null> {
    if (invoiceNumber.includes('\u0000')) return null;
    const row = await this.database
      .tables<BillingTables>()
      .selectFrom('billing.invoices')
      .select('tenantId')
      .where('invoiceNumber', '=', invoiceNumber)
      .executeTakeFirst();
    return row?.tenantId ?? null;
  }

  /** Due time of a subscription's oldest open invoice; null when there is none. */
  async oldestDueAt(
    subscriptionId: number,
    statuses: readonly InvoiceStatus[] = ['OPEN'],
  ): Promise<Date | null> {
    await this.database.em.flush();
    const { dueAt } = await this.database
      .tables<BillingTables>()
      .selectFrom('billing.invoices')
      .select(({ fn }) => fn.min('dueAt').as('dueAt'))
      .where('subscriptionId', '=', subscriptionId)
      .where('status', 'in', statuses)
      .executeTakeFirstOrThrow();
    return dueAt;
  }

  /** Writes off a subscription's open invoices. */
  async writeOff(subscriptionId: number, now: Date): Promise<void> {
    await this.database.em.flush();
    await this.database
      .tables<BillingTables>()
      .updateTable('billing.invoices')
      .set({ status: 'UNCOLLECTIBLE', updatedAt: now })
      .where('subscriptionId', '=', subscriptionId)
      .where('status', '=', sql.lit('OPEN'))
      .execute();
  }
}
