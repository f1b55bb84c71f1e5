import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { InvalidStateError } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { createProject, type TestProject } from '#testing/fixtures/fixtures';
import * as fc from '#testing/random/properties';
import { type StandInEvent, StripeStandIn } from '#testing/servers/stripe-stand-in';
import { type BillingFixture, startBilling } from '../billing.fixture.js';
import { dueCents } from '../invoices/invoice.js';
import { InvoicesQuery } from '../invoices/invoices.query.js';
import { SubscriptionAccountsService } from '../subscriptions/subscription-accounts.service.js';
import { SubscriptionsQuery } from '../subscriptions/subscriptions.query.js';
import { SubscriptionsService } from '../subscriptions/subscriptions.service.js';
import { StripeCancellationsService } from './stripe-cancellations.service.js';
import { StripeEventsService } from './stripe-events.service.js';
import { StripeSubscriptionsService } from './stripe-subscriptions.service.js';

const DAY_MS = 86_400_000;
const START = new Date('2026-03-01T12:00:00.000Z');

describe('A subscription that is paid through Stripe', () => {
  let stripe: StripeStandIn;
  let billing: BillingFixture;
  let project: TestProject;
  let subscriptions: StripeSubscriptionsService;

  beforeAll(async () => {
    stripe = new StripeStandIn(() => billing.clock.now());
    const base = await stripe.start();
    billing = await startBilling(START, {
      STRIPE_SECRET_KEY: 'sk_test_x',
      STRIPE_WEBHOOK_SECRET: stripe.secret,
      STRIPE_API_BASE: base,
    });
    subscriptions = billing.get(StripeSubscriptionsService);
  });
  afterAll(async () => {
    await billing.close();
    await stripe.stop();
  });
  beforeEach(async () => {
    billing.clock = new ManualClock(START);
    stripe.clear();
    // Scheduled tasks look after all tenants.
    await billing.test.query(
      'truncate billing.subscriptions, billing.stripe_events, billing.stripe_cancellations cascade',
    );
    project = await createProject(billing.test);
    await billing.get(SubscriptionsService).startFree(project.live.tenantId);
  });

  const tenant = () => project.live.tenantId;
  const subscription = () => billing.get(SubscriptionsQuery).ofTenant(project.live);
  const invoices = async () =>
    (await billing.get(InvoicesQuery).page(project.live, { page: 0, size: 100 })).items;
  const receive = async ({ payload, signature }: StandInEvent) =>
    (await billing.get(StripeEventsService).receive(Buffer.from(payload), signature)) === 'taken';
  const apply = () => billing.get(StripeEventsService).applyDue();
  const events = () =>
    billing.test.query('select id, processed_at, last_error from billing.stripe_events order by id');

  it('is begun there with a customer of its own and an invoice under our number', async () => {
    expect(await subscriptions.set(tenant(), { tier: 'STANDARD', currency: 'EUR' })).toBe('begun');
    expect([...stripe.customers.values()]).toMatchObject([{ name: 'Acme' }]);
    expect(stripe.subscription).toMatchObject({ amount: 2_700, currency: 'eur', interval: 'month' });
    expect(await subscription()).toMatchObject({
      planTier: 'STANDARD',
      status: 'ACTIVE',
      currentPeriod: { start: START, end: new Date(START.getTime() + 30 * DAY_MS) },
    });
    expect(await invoices()).toMatchObject([
      { status: 'OPEN', externalId: stripe.subscription.latest_invoice, amountCents: 2_800, currency: 'EUR' },
    ]);
    expect((await invoices())[0]?.invoiceNumber).toMatch(/-2026-000001$/);
  });

  it('is begun once, though Stripe answers too late and it is tried again', async () => {
    // The client tries once more by itself.
    stripe.lostAnswers = 2;
    await expect(subscriptions.set(tenant(), { tier: 'STANDARD', trialDays: 14 })).rejects.toThrow();
    expect((await subscription())?.planTier).toBe('FREE');
    billing.clock.advance(3 * DAY_MS);
    await expect(subscriptions.set(tenant(), { tier: 'PRO' })).rejects.toThrow(/sub_\d+ of this tenant/);
    expect(await subscriptions.set(tenant(), { tier: 'STANDARD', trialDays: 14 })).toBe('begun');
    expect(stripe.subscriptions.size).toBe(1);
    expect([stripe.customers.size, (await subscription())?.planTier]).toEqual([1, 'STANDARD']);
  });

  it('that somebody else began for our customer is an alarm and a finding, not silence', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const known = stripe.subscription;
    const stray = stripe.begin(known.customer);
    const invoice = stray.latest_invoice ?? '';
    await receive(stripe.event('invoice.finalized', { id: invoice }));
    for (let attempt = 0; attempt < 4; attempt += 1) {
      await apply();
      billing.clock.advance(60_000);
    }
    expect(await billing.get(StripeSubscriptionsService).strays()).toEqual([
      { tenantId: tenant(), objectId: invoice, source: 'told' },
      { tenantId: tenant(), objectId: stray.id, source: 'found' },
    ]);
    expect(await invoices()).toHaveLength(1);
  });

  it('has an invoice whose total is what Stripe says, with tax in the price and a balance taken off', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const renewal = stripe.renew();
    const tax = { amount: 1_597, tax_behavior: 'inclusive' };
    renewal.lines = renewal.lines.map((line) => ({ ...line, amount: 10_000, taxes: [tax] }));
    Object.assign(renewal, {
      total_taxes: [tax],
      total: 10_000,
      starting_balance: -4_000,
      ending_balance: 0,
    });
    await receive(stripe.event('invoice.finalized', { id: renewal.id }));
    await apply();
    const [copy] = await invoices();
    expect(copy).toMatchObject({ externalId: renewal.id, amountCents: 10_000 });
    const document = await billing.get(InvoicesQuery).byPublicId(project.live, copy?.publicId ?? '');
    expect(document).toMatchObject({ subtotalCents: 8_403, taxCents: 1_597, balanceCents: -4_000 });
    expect(document?.lines.map(({ amountCents }) => amountCents)).toEqual([8_403]);
    expect(dueCents(document!)).toBe(6_000);
  });

  it('has its credit notes taken off what is to be paid', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const invoice = [...stripe.invoices.values()][0]!;
    invoice.pre_payment_credit_notes_amount = 500;
    await receive(stripe.event('credit_note.created', { id: 'cn_1', invoice: invoice.id }));
    await apply();
    const document = await billing
      .get(InvoicesQuery)
      .byPublicId(project.live, (await invoices())[0]!.publicId);
    expect([document?.amountCents, document?.creditedCents, dueCents(document!)]).toEqual([
      3_000, 500, 2_500,
    ]);
  });

  it('has no copy of an invoice whose lines and taxes do not come to its total', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const renewal = stripe.renew();
    renewal.total += 1;
    await receive(stripe.event('invoice.finalized', { id: renewal.id }));
    await apply();
    expect(await invoices()).toHaveLength(1);
    expect(await events()).toMatchObject([
      { processed_at: null, last_error: expect.stringContaining('it is not copied') },
    ]);
  });

  it('follows a year that began on 29 February through Stripe’s 28 February', async () => {
    billing.clock = new ManualClock(new Date('2028-02-29T12:00:00Z'));
    await subscriptions.set(tenant(), { tier: 'STANDARD', interval: 'YEARLY' });
    const [item] = stripe.subscription.items.data;
    item!.current_period_end = new Date('2029-02-28T12:00:00Z').getTime() / 1_000;
    const first = stripe.subscription.latest_invoice ?? '';
    stripe.pay(first);
    await receive(stripe.event('invoice.paid', { id: first }));
    await receive(stripe.event('customer.subscription.updated', { id: stripe.subscription.id }));
    await apply();
    expect((await subscription())?.currentPeriod.end).toEqual(new Date('2029-02-28T12:00:00Z'));
    billing.clock.advance(365 * DAY_MS);
    stripe.renew();
    item!.current_period_start = new Date('2029-02-28T12:00:00Z').getTime() / 1_000;
    item!.current_period_end = new Date('2030-02-28T12:00:00Z').getTime() / 1_000;
    await receive(stripe.event('customer.subscription.updated', { id: stripe.subscription.id }));
    await apply();
    await billing.get(SubscriptionAccountsService).advanceDue();
    expect(await subscription()).toMatchObject({
      status: 'ACTIVE',
      currentPeriod: { start: new Date('2029-02-28T12:00:00Z'), end: new Date('2030-02-28T12:00:00Z') },
    });
  });

  it('gets an answer to what Stripe signed and is no event with an object', async () => {
    for (const payload of [
      '[]',
      '{"id":"evt_1","object":"v2.core.event","type":"v1.billing.meter.error"}',
      '{"id":1',
      '{"id":"evt_1","type":"invoice.paid","created":1}',
    ]) {
      const signed = stripe.sign(payload);
      expect(await billing.get(StripeEventsService).receive(Buffer.from(payload), signed)).toBe('unreadable');
    }
    expect(await events()).toEqual([]);
  });

  it('is paid when Stripe says so, once, however often it says it', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const [invoice] = [...stripe.invoices.values()];
    stripe.pay(invoice?.id ?? '');
    const event = stripe.event('invoice.paid', { id: invoice?.id ?? '' });
    expect([await receive(event), await receive(event)]).toEqual([true, true]);
    await apply();
    await apply();
    expect(await events()).toHaveLength(1);
    expect(await invoices()).toMatchObject([{ status: 'PAID', paidAt: START }]);
  });

  it('is asked about by one worker, where two are told of an event at once', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const id = stripe.subscription.latest_invoice ?? '';
    const other = (await billing.another()).get(StripeEventsService);
    const asked = async (...workers: readonly (() => Promise<void>)[]) => {
      const before = stripe.requests.length;
      await receive(stripe.event('invoice.finalized', { id }));
      await Promise.all(workers.map((work) => work()));
      return stripe.requests.length - before;
    };
    // Each alone first: then both have their connections.
    const alone = [await asked(apply), await asked(() => other.applyDue())];
    expect([await asked(apply, () => other.applyDue()), alone[0]]).toEqual([alone[1], alone[1]]);
  });

  it('takes no event whose signature is wrong, whose body was changed, or that is old', async () => {
    const { payload, signature } = stripe.event('invoice.paid', { id: 'in_1' });
    expect(await receive({ payload: payload.replace('in_1', 'in_2'), signature })).toBe(false);
    expect(
      await receive({ payload, signature: signature.replace(/.$/, (last) => (last === '0' ? '1' : '0')) }),
    ).toBe(false);
    expect(await receive({ payload, signature: '' })).toBe(false);
    expect(await receive(stripe.event('invoice.paid', { id: 'in_1' }, { age: 600 }))).toBe(false);
    expect(await events()).toEqual([]);
    expect(await receive({ payload, signature })).toBe(true);
  });

  it('takes events about other things without keeping them', async () => {
    expect(await receive(stripe.event('charge.refunded', { id: 'ch_1' }))).toBe(true);
    expect(await events()).toEqual([]);
  });

  it('is renewed by Stripe and not by us', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    stripe.pay(stripe.subscription.latest_invoice ?? '');
    await receive(stripe.event('invoice.paid', { id: stripe.subscription.latest_invoice ?? '' }));
    await apply();
    billing.clock.advance(31 * DAY_MS);
    await billing.get(SubscriptionAccountsService).advanceDue();
    expect(await invoices()).toHaveLength(1);
    const renewal = stripe.renew();
    await receive(stripe.event('invoice.finalized', { id: renewal.id }));
    await receive(stripe.event('customer.subscription.updated', { id: stripe.subscription.id }));
    await apply();
    expect((await invoices()).map(({ billingReason, status }) => [billingReason, status])).toEqual([
      ['subscription_cycle', 'OPEN'],
      ['subscription_create', 'PAID'],
    ]);
    expect((await subscription())?.currentPeriod.start).toEqual(new Date(START.getTime() + 30 * DAY_MS));
  });

  it('that nobody pays is restricted after our grace, and comes back with the payment at Stripe', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const statuses: unknown[] = [];
    for (const days of [7, 14]) {
      billing.clock.advance(days * DAY_MS);
      await billing.get(SubscriptionAccountsService).advanceDue();
      statuses.push((await subscription())?.status);
    }
    expect(statuses).toEqual(['PAST_DUE', 'RESTRICTED']);
    const id = stripe.subscription.latest_invoice ?? '';
    stripe.pay(id);
    await receive(stripe.event('invoice.paid', { id }));
    await apply();
    expect((await subscription())?.status).toBe('ACTIVE');
  });

  describe('that expires', () => {
    const cancel = () => billing.get(StripeCancellationsService).cancelExpired();
    const waiting = () =>
      billing.test.query<{ attempts: number; last_error: string | null }>(
        'select attempts, last_error from billing.stripe_cancellations',
      );
    const told = async (type: string, id: string) => {
      await receive(stripe.event(type, { id }));
      await apply();
    };

    /** A year that nobody pays, to the day on which we give it up. */
    async function expired(): Promise<string> {
      await subscriptions.set(tenant(), { tier: 'STANDARD', interval: 'YEARLY' });
      for (const days of [7, 14, 30]) {
        billing.clock.advance(days * DAY_MS);
        await billing.get(SubscriptionAccountsService).advanceDue();
      }
      expect((await subscription())?.status).toBe('EXPIRED');
      return stripe.subscription.id;
    }

    it('is cancelled at Stripe, once, and stays expired when Stripe tells of it', async () => {
      const id = await expired();
      expect(stripe.subscription.status).toBe('active');
      await cancel();
      await cancel();
      expect(stripe.requests.filter((request) => request.startsWith('DELETE'))).toHaveLength(1);
      expect(stripe.subscription.status).toBe('canceled');
      await told('customer.subscription.deleted', id);
      expect(await subscription()).toMatchObject({ status: 'EXPIRED', isSendingAllowed: false });
      expect(await waiting()).toEqual([]);
    });

    it('is cancelled later when Stripe does not answer, however long that lasts', async () => {
      await expired();
      stripe.isDown = true;
      for (const attempts of [1, 2, 3]) {
        await expect(cancel()).rejects.toThrow('1 subscriptions were not cancelled at Stripe');
        // It is not asked again before its time.
        await cancel();
        expect(await waiting()).toEqual([{ attempts, last_error: expect.any(String) }]);
        billing.clock.advance(2 * 3_600_000);
      }
      stripe.isDown = false;
      await cancel();
      expect([stripe.subscription.status, await waiting()]).toEqual(['canceled', []]);
    });

    it('is done with when somebody has cancelled it there, or this was stopped before it was noted', async () => {
      await expired();
      stripe.subscription.status = 'canceled';
      await cancel();
      expect(await waiting()).toEqual([]);
      expect((await subscription())?.status).toBe('EXPIRED');
    });

    it('goes on at Stripe when it is paid before it is cancelled there', async () => {
      await expired();
      const invoice = stripe.subscription.latest_invoice ?? '';
      stripe.pay(invoice);
      await told('invoice.paid', invoice);
      await cancel();
      expect([stripe.subscription.status, await waiting()]).toEqual(['active', []]);
      expect(await subscription()).toMatchObject({ status: 'ACTIVE', cancelAtPeriodEnd: false });
    });

    it('comes back for the rest of its year when it is paid afterwards, and ends with it', async () => {
      const id = await expired();
      await cancel();
      const invoice = stripe.subscription.latest_invoice ?? '';
      stripe.pay(invoice);
      await told('invoice.paid', invoice);
      await told('customer.subscription.deleted', id);
      expect(await subscription()).toMatchObject({ status: 'ACTIVE', cancelAtPeriodEnd: true });
      billing.clock.advance(365 * DAY_MS);
      await billing.get(SubscriptionAccountsService).advanceDue();
      expect((await subscription())?.status).toBe('CANCELLED');
      expect(await invoices()).toHaveLength(1);
    });

    it('is cancelled there also when another one was begun meanwhile, which goes on', async () => {
      const id = await expired();
      expect(await subscriptions.set(tenant(), { tier: 'PRO' })).toBe('begun');
      await cancel();
      expect([stripe.subscriptions.get(id)?.status, stripe.subscription.status]).toEqual([
        'canceled',
        'active',
      ]);
      expect(await subscription()).toMatchObject({ status: 'ACTIVE', planTier: 'PRO' });
    });
  });

  it('is upgraded at once with Stripe’s proration, and downgraded when Stripe begins the next period', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    expect(await subscriptions.set(tenant(), { tier: 'PRO' })).toBe('at-once');
    expect((await invoices()).map(({ billingReason, amountCents }) => [billingReason, amountCents])).toEqual([
      ['subscription_update', 7_100],
      ['subscription_create', 3_000],
    ]);
    expect(await subscriptions.set(tenant(), { tier: 'STANDARD' })).toBe('at-period-end');
    expect(stripe.subscription.amount).toBe(2_900);
    expect(await subscription()).toMatchObject({ planTier: 'PRO', pendingPlanTier: 'STANDARD' });
    stripe.renew();
    await receive(stripe.event('customer.subscription.updated', { id: stripe.subscription.id }));
    await apply();
    expect(await subscription()).toMatchObject({ planTier: 'STANDARD', pendingPlanTier: null });
  });

  it('has its trial there, and is cancelled there', async () => {
    await subscriptions.set(tenant(), { tier: 'PRO', interval: 'YEARLY', trialDays: 14 });
    expect(await subscription()).toMatchObject({ status: 'TRIALING', billingInterval: 'YEARLY' });
    await subscriptions.cancel(tenant(), 'at-period-end', 'moved');
    expect(stripe.subscription.cancel_at_period_end).toBe(true);
    expect(await subscription()).toMatchObject({ cancelAtPeriodEnd: true, cancellationReason: 'moved' });
    await subscriptions.cancel(tenant(), 'at-once', null);
    expect(stripe.subscription.status).toBe('canceled');
    expect((await subscription())?.status).toBe('CANCELLED');
  });

  it('refuses what Stripe cannot do without paying money back', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD', interval: 'YEARLY' });
    await expect(subscriptions.set(tenant(), { interval: 'MONTHLY' })).rejects.toThrow(InvalidStateError);
    await expect(subscriptions.set(tenant(), { currency: 'EUR', tier: 'PRO' })).rejects.toThrow(
      InvalidStateError,
    );
  });

  it('waits with an event for a subscription that is not known yet, and looks again', async () => {
    await receive(stripe.event('customer.subscription.created', { id: 'sub_77' }));
    await apply();
    expect(await events()).toMatchObject([
      { processed_at: null, last_error: 'It is about nothing that is known here.' },
    ]);
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    await billing.test.query(`update billing.stripe_events set object_id = $1`, [stripe.subscription.id]);
    billing.clock.advance(10_000);
    await apply();
    expect(await events()).toMatchObject([{ last_error: null }]);
  });

  it('ends as Stripe has it, in whatever order its events come and however often', async () => {
    await subscriptions.set(tenant(), { tier: 'STANDARD' });
    const first = stripe.subscription.latest_invoice ?? '';
    const told: StandInEvent[] = [stripe.event('invoice.finalized', { id: first })];
    stripe.pay(first);
    told.push(stripe.event('invoice.paid', { id: first }));
    const second = stripe.renew();
    told.push(
      stripe.event('customer.subscription.updated', { id: stripe.subscription.id }),
      stripe.event('invoice.created', { id: second.id }),
      stripe.event('invoice.finalized', { id: second.id }),
    );
    stripe.pay(second.id);
    told.push(stripe.event('invoice.paid', { id: second.id }));
    const order = fc.shuffledSubarray([...told, ...told], { minLength: told.length * 2 });
    await fc.assert(
      fc.asyncProperty(order, async (shuffled) => {
        await billing.test.query('delete from billing.stripe_events');
        for (const event of shuffled) await receive(event);
        await Promise.all([apply(), apply()]);
        const kept = await invoices();
        expect(kept.map(({ status }) => status)).toEqual(['PAID', 'PAID']);
        expect(new Set(kept.map(({ invoiceNumber }) => invoiceNumber?.slice(-6)))).toEqual(
          new Set(['000001', '000002']),
        );
        expect((await subscription())?.status).toBe('ACTIVE');
      }),
      { numRuns: fc.runs(5) },
    );
  });
});
