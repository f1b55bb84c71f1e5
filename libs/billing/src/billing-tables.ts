import type { Generated } from 'kysely';
import type { Tables } from '#platform';
import type { CreditTransactionType } from './credit.js';
import type { InvoiceLine } from './invoices/invoice.js';
import { InvoiceSchema } from './invoices/invoice.schema.js';
import { PlanSchema } from './plan.schema.js';
import { SubscriptionSchema } from './subscriptions/subscription.schema.js';

export const billingEntities = [InvoiceSchema, PlanSchema, SubscriptionSchema];

interface PlanVariantsTable {
  readonly id: Generated<number>;
  readonly planVersionId: number;
  readonly aiCredits: number;
}

interface SubscriptionDueTimes {
  /** When time alone changes it next; −infinity: look at it, infinity: never. */
  readonly nextDueAt: Generated<Date>;
}

interface InvoiceNumbersTable {
  readonly tenantId: number;
  readonly year: number;
  readonly lastNumber: number;
}

interface InvoiceLinesTable extends InvoiceLine {
  readonly invoiceId: number;
  readonly position: number;
  readonly tenantId: number;
}

interface CampaignUsageTable {
  readonly tenantId: number;
  readonly periodStart: Date;
  readonly campaigns: number;
}

interface EmailUsageTable {
  readonly tenantId: number;
  readonly periodStart: Date;
  readonly reserved: Generated<number>;
  readonly used: Generated<number>;
}

interface EmailSettlementsTable {
  readonly id: Generated<number>;
  readonly tenantId: number;
  readonly periodStart: Date;
  readonly reserved: Generated<number>;
  readonly used: number;
  readonly released: number;
}

/** The sum of the ledger, kept by the ledger's trigger and by nothing else. */
interface CreditAccountsTable {
  readonly tenantId: number;
  readonly balance: Generated<number>;
  readonly monthly: Generated<number>;
  readonly monthlyUntil: Date | null;
  readonly transactions: Generated<number>;
  readonly depletedAt: Date | null;
  readonly updatedAt: Date | null;
}

/** The ledger's trigger fills in the columns that an insert leaves out. */
interface CreditTransactionsTable {
  readonly id: string;
  readonly tenantId: number;
  readonly sequence: Generated<number>;
  readonly type: CreditTransactionType;
  readonly amount: number;
  readonly monthly: Generated<number>;
  readonly balanceAfter: Generated<number>;
  readonly referenceId: string | null;
  readonly description: string | null;
  readonly onceKey: string | null;
  readonly createdAt: Date;
}

interface CreditReservationsTable {
  readonly id: string;
  readonly tenantId: number;
  readonly expiresAt: Date;
}

interface StripeEventsTable {
  readonly id: string;
  readonly objectId: string;
  readonly occurredAt: Date;
  readonly attempts: Generated<number>;
  readonly retryAt: Generated<Date>;
  readonly lastError: string | null;
  readonly processedAt: Date | null;
  readonly strayTenantId: number | null;
}

interface StripeCancellationsTable {
  readonly externalId: string;
  readonly tenantId: number;
  readonly requestedAt: Date;
  readonly attempts: Generated<number>;
  readonly retryAt: Generated<Date>;
  readonly lastError: string | null;
}

/** The tables of the schema `billing`. Those without an entity are counters, ledgers and queues: SQL alone writes them. */
export type BillingTables = Tables<
  'billing',
  typeof InvoiceSchema | typeof PlanSchema | typeof SubscriptionSchema
> & {
  'billing.subscriptions': SubscriptionDueTimes;
  'billing.plan_variants': PlanVariantsTable;
  'billing.invoice_numbers': InvoiceNumbersTable;
  'billing.invoice_lines': InvoiceLinesTable;
  'billing.campaign_usage': CampaignUsageTable;
  'billing.email_usage': EmailUsageTable;
  'billing.email_settlements': EmailSettlementsTable;
  'billing.credit_accounts': CreditAccountsTable;
  'billing.credit_transactions': CreditTransactionsTable;
  'billing.credit_reservations': CreditReservationsTable;
  'billing.stripe_events': StripeEventsTable;
  'billing.stripe_cancellations': StripeCancellationsTable;
};
