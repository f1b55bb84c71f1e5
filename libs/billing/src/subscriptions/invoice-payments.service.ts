import { Injectable } from '@nestjs/common';
import { NotFoundError } from '#kernel';
import { Database } from '#platform';
import { InvoiceRepository } from '../invoices/invoice.repository.js';
import type { Invoice } from '../invoices/invoice.js';
import { SubscriptionAccounts } from './subscription-accounts.service.js';
import type { OpenSubscription } from './subscription-effects.service.js';

/** What the operator says about invoices. */
@Injectable()
export class InvoicePayments {
  constructor(
    private readonly database: Database,
    private readonly accounts: SubscriptionAccounts,
    private readonly invoices: InvoiceRepository,
  ) {}

  /** The money has come: the subscription goes on. Throws `NotFoundError` or `InvalidStateError`. */
  pay(invoiceNumber: string): Promise<void> {
    return this.#end(invoiceNumber, (invoice, now) => invoice.pay(now));
  }

  /** The invoice was a mistake; it keeps its number. Throws `NotFoundError` or `InvalidStateError`. */
  void(invoiceNumber: string): Promise<void> {
    return this.#end(invoiceNumber, (invoice, now) => invoice.void(now));
  }

  async #end(invoiceNumber: string, end: (invoice: Invoice, now: Date) => void): Promise<void> {
    const tenantId = await this.database.system(() => this.invoices.tenantOf(invoiceNumber));
    if (tenantId === null) throw new NotFoundError();
    await this.accounts.change(tenantId, async (open) => {
      const invoice = await this.invoices.lock(invoiceNumber);
      if (invoice === null) throw new NotFoundError();
      end(invoice, open.now);
      await settle(open, this.invoices);
    });
  }
}

/** Lets a subscription look again at what it owes. */
export async function settle(
  { account, subscription, now }: OpenSubscription,
  invoices: InvoiceRepository,
): Promise<void> {
  const isExpired = account.state.status === 'EXPIRED';
  const { id } = subscription;
  account.settle(now, await (isExpired ? invoices.unpaidDueAt(id) : invoices.openDueAt(id)));
}
