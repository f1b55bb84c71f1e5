import { Inject, Injectable } from '@nestjs/common';
import { InvalidStateError, NotFoundError } from '#kernel';
import { Database } from '#platform';
import {
  type OpenSubscription,
  SubscriptionAccounts,
} from '../subscriptions/subscription-accounts.service.js';
import { InvoiceRepository } from './invoice.repository.js';
import type { InvoiceStatus } from './invoice.js';

const UNPAID: readonly InvoiceStatus[] = ['OPEN', 'UNCOLLECTIBLE'];

/** What the operator says about invoices. */
@Injectable()
export class InvoicePayments {
  constructor(
    @Inject(Database) private readonly database: Database,
    @Inject(SubscriptionAccounts) private readonly accounts: SubscriptionAccounts,
    @Inject(InvoiceRepository) private readonly invoices: InvoiceRepository,
  ) {}

  /** The money has come: the subscription goes on. Throws `NotFoundError` or `InvalidStateError`. */
  pay(invoiceNumber: string): Promise<void> {
    return this.#end(invoiceNumber, 'PAID', 'pay');
  }

  /** The invoice was a mistake; it keeps its number. Throws `NotFoundError` or `InvalidStateError`. */
  void(invoiceNumber: string): Promise<void> {
    return this.#end(invoiceNumber, 'VOID', 'void');
  }

  async #end(invoiceNumber: string, status: 'PAID' | 'VOID', what: string): Promise<void> {
    const tenantId = await this.database.system(({ db }) => this.invoices.tenantOf(db, invoiceNumber));
    if (tenantId === null) throw new NotFoundError();
    await this.accounts.change(tenantId, async (open) => {
      const invoice = await this.invoices.lock(open.db, invoiceNumber);
      if (invoice === null) throw new NotFoundError();
      if (!UNPAID.includes(invoice.status)) {
        throw new InvalidStateError(
          `The invoice ${invoiceNumber} is ${invoice.status}: nobody can ${what} it.`,
          invoice.status,
          UNPAID,
        );
      }
      await this.invoices.setStatus(open.db, invoice.id, status, open.now);
      await settle(open, this.invoices);
    });
  }
}

/** Lets a subscription look again at what it owes. */
export async function settle(
  { account, db, id, now }: OpenSubscription,
  invoices: InvoiceRepository,
): Promise<void> {
  const unpaid =
    account.state.status === 'EXPIRED'
      ? await invoices.unpaidDueAt(db, id)
      : await invoices.openDueAt(db, id);
  account.settle(now, unpaid);
}
