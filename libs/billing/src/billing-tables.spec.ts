import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createProject } from '#testing/fixtures/fixtures';
import { type BillingFixture, startBilling } from './billing.fixture.js';
import { Invoice } from './invoices/invoice.js';
import { InvoiceRepository } from './invoices/invoice.repository.js';
import { Plan } from './plan.js';
import { Subscription } from './subscriptions/subscription.js';
import { SubscriptionsService } from './subscriptions/subscriptions.service.js';

const NOW = new Date('2026-03-01T10:20:30.456Z');
const LATER = new Date('2027-03-01T10:20:30.456Z');
const PARTY = { name: 'Acme', address: '1 Main Street\nSpringfield', taxId: 'VAT DE123456789' };

describe('What is written of billing is read as it was', () => {
  let billing: BillingFixture;
  let tenantId: number;

  beforeAll(async () => {
    billing = await startBilling(NOW);
    tenantId = (await createProject(billing.test)).live.tenantId;
    await billing.get(SubscriptionsService).startFree(tenantId);
  });

  afterAll(() => billing.close());

  const readAgain = async <Entity extends object>(
    type: new (...given: never[]) => Entity,
    of: object,
  ): Promise<Entity> => {
    billing.database.em.clear();
    return billing.database.em.findOneOrFail(type, of);
  };

  it('a subscription, and an invoice with its lines', () =>
    billing.database.system(async () => {
      const { em } = billing.database;
      const subscription = await em.findOneOrFail(Subscription, { tenantId });
      const terms = {
        tier: 'PRO',
        planVersionId: 3,
        planName: 'Pro',
        interval: 'YEARLY',
        priceCents: 1,
      } as const;
      subscription.record({
        status: 'RESTRICTED',
        terms: { ...terms, aiCredits: 500, currency: 'EUR' },
        pending: { ...terms, tier: 'STANDARD', planVersionId: 2, aiCredits: 250, currency: 'GBP' },
        anchoredAt: NOW,
        period: { start: NOW, end: LATER },
        trialEndsAt: LATER,
        cancelAtPeriodEnd: true,
        cancelledAt: NOW,
        cancellationReason: 'too dear',
        pastDueSince: NOW,
        restrictedSince: LATER,
        endedAt: LATER,
        isRenewedElsewhere: true,
      });
      subscription.setBuyer(PARTY);
      subscription.announce(NOW, 250);
      subscription.externalId = 'sub_1';
      subscription.externalCustomerId = 'cus_1';
      subscription.updatedAt = LATER;
      await em.flush();
      expect(await readAgain(Subscription, { tenantId })).toEqual(subscription);

      const about = {
        tenantId,
        subscriptionId: subscription.id,
        seller: PARTY,
        buyer: { ...PARTY, taxId: null },
      };
      const publicId = '0192f0c1-2345-7abc-8def-0123456789ab';
      const draft = {
        ...about,
        publicId,
        externalId: 'in_1',
        currency: 'EUR',
        reason: 'subscription_cycle',
      } as const;
      const invoice = new Invoice(draft, NOW, LATER);
      invoice.bill({ subtotalCents: 2_700, taxRateBp: 2_300, taxCents: 621, amountCents: 3_321 });
      invoice.issue({ year: 2026, number: 7, text: 'ACME-2026-000007' }, NOW, LATER);
      invoice.pay(LATER);
      const line = { description: 'Pro', amountCents: 2_700, periodStart: NOW, periodEnd: LATER };
      const invoices = billing.get(InvoiceRepository, { strict: false });
      await invoices.add(invoice, [line]);
      expect(await readAgain(Invoice, { publicId })).toEqual(invoice);
    }));

  it('a plan, with its variants and prices', () =>
    billing.database.system(async () => {
      const plan = await readAgain(Plan, { tier: 'STANDARD' });
      expect(plan).toMatchObject({
        version: 1,
        name: 'Standard',
        limits: { customFieldsEnabled: true },
        retiredAt: null,
      });
      expect(plan.variants.map(({ aiCredits }) => aiCredits)).toEqual([500, 1_000, 2_500]);
      expect(plan.variants[0]?.prices).toContainEqual({
        currency: 'USD',
        monthlyCents: 2_900,
        yearlyCents: expect.any(Number),
      });
    }));
});
