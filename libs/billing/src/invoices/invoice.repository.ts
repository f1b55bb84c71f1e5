import { Injectable } from '@nestjs/common';
import { sql } from 'kysely';
import type { Sql } from '#platform';
import type { InvoiceStatus } from './invoice.js';

/** An invoice that the caller's transaction keeps from others. */
export interface LockedInvoice {
  readonly id: number;
  readonly tenantId: number;
  readonly subscriptionId: number;
  readonly status: InvoiceStatus;
}

/** Reads and writes the state of invoices, in the caller's transaction of the system. */
@Injectable()
export class InvoiceRepository {
  /** When the oldest open invoice of a subscription is due; null when there is none. */
  async openDueAt(db: Sql, subscriptionId: number): Promise<Date | null> {
    return this.#oldestDue(db, subscriptionId, ['OPEN']);
  }

  /** The same with those that were given up. */
  async unpaidDueAt(db: Sql, subscriptionId: number): Promise<Date | null> {
    return this.#oldestDue(db, subscriptionId, ['OPEN', 'UNCOLLECTIBLE']);
  }

  async tenantOf(db: Sql, invoiceNumber: string): Promise<number | null> {
    const { rows } = await sql<{ tenantId: number }>`
      select tenant_id as "tenantId" from billing.invoices where invoice_number = ${invoiceNumber}
    `.execute(db);
    return rows[0]?.tenantId ?? null;
  }

  async lock(db: Sql, invoiceNumber: string): Promise<LockedInvoice | null> {
    const { rows } = await sql<LockedInvoice>`
      select id, tenant_id as "tenantId", subscription_id as "subscriptionId", status
      from billing.invoices where invoice_number = ${invoiceNumber} for update
    `.execute(db);
    return rows[0] ?? null;
  }

  /** `at` is when it became so; of PAID it is when it was paid. */
  async setStatus(db: Sql, id: number, status: InvoiceStatus, at: Date): Promise<void> {
    await sql`
      update billing.invoices set status = ${status}, paid_at = ${status === 'PAID' ? at : null}, updated_at = ${at}
      where id = ${id}
    `.execute(db);
  }

  /** Gives up what a subscription owes. */
  async writeOff(db: Sql, subscriptionId: number, now: Date): Promise<void> {
    await sql`
      update billing.invoices set status = 'UNCOLLECTIBLE', updated_at = ${now}
      where subscription_id = ${subscriptionId} and status = 'OPEN'
    `.execute(db);
  }

  async #oldestDue(
    db: Sql,
    subscriptionId: number,
    statuses: readonly InvoiceStatus[],
  ): Promise<Date | null> {
    const { rows } = await sql<{ dueAt: Date | null }>`
      select min(due_at) as "dueAt" from billing.invoices
      where subscription_id = ${subscriptionId} and status = any(${[...statuses]}::text[])
    `.execute(db);
    return rows[0]?.dueAt ?? null;
  }
}
