import { defineEntity, p } from '@mikro-orm/postgresql';
import { type BillingReason, Invoice, type InvoiceParty, type InvoiceStatus } from './invoice.js';

/** billing.invoices. Its lines are rows that are written once, with SQL. */
export const InvoiceSchema = defineEntity({
  class: Invoice,
  tableName: 'invoices',
  schema: 'billing',
  properties: {
    id: p.bigint('number').primary().autoincrement(),
    publicId: p.uuid(),
    tenantId: p.bigint('number'),
    subscriptionId: p.bigint('number'),
    externalId: p.text().nullable(),
    status: p.string().$type<InvoiceStatus>(),
    billingReason: p.string().$type<BillingReason>(),
    currency: p.text(),
    subtotalCents: p.bigint('number'),
    taxRateBp: p.integer(),
    taxCents: p.bigint('number'),
    amountCents: p.bigint('number'),
    balanceCents: p.bigint('number'),
    creditedCents: p.bigint('number'),
    numberYear: p.integer().nullable(),
    number: p.integer().nullable(),
    invoiceNumber: p.text().nullable(),
    seller: p.json<InvoiceParty>(),
    buyer: p.json<InvoiceParty>(),
    issuedAt: p.datetime(3).nullable(),
    dueAt: p.datetime(3).nullable(),
    paidAt: p.datetime(3).nullable(),
    createdAt: p.datetime(3),
    updatedAt: p.datetime(3),
  },
});
