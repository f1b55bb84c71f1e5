import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { DomainValidationError, InvalidStateError } from '#kernel';
import { ManualClock } from '#testing/time/clocks';
import { createProject, type TestProject } from '#testing/fixtures/fixtures';
import { type BillingFixture, startBilling } from '../billing.fixture.js';
import { InvoicesQuery } from '../invoices/invoices.query.js';
import { InvoicesService } from '../invoices/invoices.service.js';
import { PlanLimitsService } from '../plan-limits.service.js';
import { SubscriptionAccountsService } from './subscription-accounts.service.js';
import { SubscriptionsQuery } from './subscriptions.query.js';
import { SubscriptionsService } from './subscriptions.service.js';

const START = new Date('2026-01-31T10:00:00.000Z');
const DAY_MS = 86_400_000;
const EVERY_ROUND = { page: 0, size: 100 };

let billing: BillingFixture;
let changes: SubscriptionsService;
let project: TestProject;

beforeAll(async () => {
  billing = await startBilling(START, { INVOICE_TAX_RATE: '23' });
  changes = billing.get(SubscriptionsService);
});
afterAll(() => billing.close());

beforeEach(async () => {
  billing.clock = new ManualClock(START);
  project = await createProject(billing.test);
});

const advance = () => billing.get(SubscriptionAccountsService).advanceDue();
const subscription = () => billing.get(SubscriptionsQuery).ofTenant(project.live);

describe('The operator and time', () => {
  let invoices: InvoicesQuery;

  beforeAll(() => {
    invoices = billing.get(InvoicesQuery);
  });
  afterEach(async () => {
    expect(await wrongInvoices()).toEqual([]);
    await billing.test.query(`
      truncate billing.subscriptions, billing.invoices, platform.jobs cascade;
      update billing.plan_versions set retired_at = now() where version > 1;
      update billing.plan_versions set retired_at = null where version = 1`);
  });

  const pass = (days: number) => {
    billing.clock.advance(days * DAY_MS);
    return advance();
  };
  const invoiceList = async () => (await invoices.page(project.live, EVERY_ROUND)).items;
  const months = async () => {
    const rows = await billing.test.query<{ payload: { aiCredits: number; periodStart: string } }>(
      `select payload from platform.jobs where name = 'credits.grant_month'
         and environment_id = $1 order by payload ->> 'periodStart', payload ->> 'aiCredits'`,
      [project.live.environmentId],
    );
    return rows.map(({ payload }) => [payload.periodStart.slice(0, 10), payload.aiCredits]);
  };
  /** Invoices that are not the sum of their lines and their tax, to the cent. */
  const wrongInvoices = () =>
    billing.test.query(
      `select i.* from billing.invoices i
       cross join lateral (select sum(amount_cents) from billing.invoice_lines where invoice_id = i.id) l
       where (i.subtotal_cents = l.sum and i.amount_cents = l.sum + i.tax_cents
         and abs(i.tax_cents - l.sum * i.tax_rate_bp / 10000.0) <= 0.5) is not true`,
    );
  const { live } = { live: () => project.live.tenantId };

  it('begin a subscription with an invoice that names its tenant, its tax and what it is for', async () => {
    expect(await changes.set(live(), { tier: 'STANDARD', currency: 'EUR' })).toBe('begun');
    expect(await subscription()).toMatchObject({ planTier: 'STANDARD', status: 'ACTIVE', aiCredits: 500 });
    const [summary] = await invoiceList();
    expect(summary).toMatchObject({ status: 'OPEN', currency: 'EUR', billingReason: 'subscription_create' });
    const invoice = await invoices.byPublicId(project.live, summary?.publicId ?? '');
    expect(invoice).toMatchObject({
      subtotalCents: 2_700,
      taxRateBp: 2_300,
      taxCents: 621,
      amountCents: 3_321,
      seller: { name: 'Mailwright Ltd', address: '1 Harbour Road\nDublin', taxId: null },
      buyer: { name: 'Acme', address: null, taxId: null },
      lines: [{ description: 'Standard, monthly, 500 AI credits a month', amountCents: 2_700 }],
    });
    expect(invoice?.invoiceNumber).toMatch(/^T[A-F0-9]{12}-2026-000001$/);
  });

  it('renew it at its anniversary, once, however many workers look', async () => {
    await changes.set(live(), { tier: 'PRO' });
    await changes.payInvoice((await invoiceList())[0]?.invoiceNumber ?? '');
    const others = await Promise.all([billing.another(), billing.another()]);
    billing.clock.advance(40 * DAY_MS);
    await Promise.all([
      ...others.map((worker) => worker.get(SubscriptionAccountsService).advanceDue()),
      advance(),
      advance(),
    ]);
    await advance();
    expect((await invoiceList()).map(({ billingReason }) => billingReason)).toEqual([
      'subscription_cycle',
      'subscription_create',
    ]);
  });

  it('make it past due, restricted and expired when nobody pays, and active again with the payment', async () => {
    await changes.set(live(), { tier: 'STANDARD', interval: 'YEARLY' });
    const [invoice] = await invoiceList();
    const statuses: unknown[] = [];
    for (const days of [6, 1, 13, 1]) {
      await pass(days);
      statuses.push((await subscription())?.status);
    }
    expect(statuses).toEqual(['ACTIVE', 'PAST_DUE', 'PAST_DUE', 'RESTRICTED']);
    expect((await subscription())?.isSendingAllowed).toBe(false);
    await expect(changes.set(live(), { tier: 'PRO' })).rejects.toThrow(InvalidStateError);
    await changes.payInvoice(invoice?.invoiceNumber ?? '');
    expect(await subscription()).toMatchObject({ status: 'ACTIVE', isSendingAllowed: true });
    expect(await invoiceList()).toMatchObject([{ status: 'PAID', paidAt: billing.clock.now() }]);
    await expect(changes.payInvoice(invoice?.invoiceNumber ?? '')).rejects.toThrow(InvalidStateError);
  });

  it('give up what an expired subscription owes; a late payment brings the rest of its year back', async () => {
    await changes.set(live(), { tier: 'STANDARD', interval: 'YEARLY' });
    await pass(7 + 14 + 30);
    expect((await subscription())?.status).toBe('EXPIRED');
    const [invoice] = await invoiceList();
    expect(invoice?.status).toBe('UNCOLLECTIBLE');
    await changes.payInvoice(invoice?.invoiceNumber ?? '');
    expect((await subscription())?.status).toBe('ACTIVE');
  });

  it('void an invoice, which keeps its number and is owed no more', async () => {
    await changes.set(live(), { tier: 'STANDARD' });
    const [invoice] = await invoiceList();
    await pass(8);
    expect((await subscription())?.status).toBe('PAST_DUE');
    await changes.voidInvoice(invoice?.invoiceNumber ?? '');
    expect((await subscription())?.status).toBe('ACTIVE');
    await pass(30);
    expect(
      (await invoiceList()).map(({ status, invoiceNumber }) => [status, invoiceNumber?.slice(-6)]),
    ).toEqual([
      ['OPEN', '000002'],
      ['VOID', '000001'],
    ]);
  });

  it('number the invoices of another year from one again', async () => {
    await changes.set(live(), { tier: 'STANDARD' });
    const year = billing.clock.now().getUTCFullYear();
    const untilNext = (Date.UTC(year + 1, 0, 15) - billing.clock.now().getTime()) / DAY_MS;
    await changes.payInvoice((await invoiceList())[0]?.invoiceNumber ?? '');
    await billing.test.query(
      `update billing.subscriptions set billing_interval = 'YEARLY' where tenant_id = $1`,
      [live()],
    );
    await pass(untilNext);
    const [newest] = await invoiceList();
    expect(newest?.invoiceNumber?.slice(-11)).toBe(`${year + 1}-000001`);
  });

  it('tell of every month with its AI credits, of a yearly one too, and of more of them after an upgrade', async () => {
    await changes.set(live(), { tier: 'STANDARD', interval: 'YEARLY' });
    await changes.payInvoice((await invoiceList())[0]?.invoiceNumber ?? '');
    const begun = billing.clock.now().toISOString().slice(0, 10);
    await advance();
    await changes.set(live(), { aiCredits: 2_500 });
    await changes.payInvoice((await invoiceList())[0]?.invoiceNumber ?? '');
    expect(await months()).toEqual([
      [begun, 2_500],
      [begun, 500],
    ]);
    await pass(32);
    expect((await months()).slice(2)).toEqual([[expect.not.stringContaining(begun), 2_500]]);
  });

  it('refuse what is not on offer', async () => {
    await expect(changes.set(live(), { tier: 'STANDARD', aiCredits: 7 })).rejects.toMatchObject({
      errors: { aiCredits: 'must be one of 500, 1000, 2500' },
    });
    await expect(changes.set(live(), { tier: 'PRO', currency: 'PLN' })).rejects.toMatchObject({
      errors: { currency: 'must be one of EUR, GBP, USD' },
    });
    await expect(changes.set(live(), { tier: 'PRO', trialDays: 0 })).rejects.toThrow(DomainValidationError);
  });

  it('keep the price of a subscription when the catalogue’s changes, for newcomers alone', async () => {
    await changes.set(live(), { tier: 'STANDARD' });
    const [{ content } = { content: {} }] = await billing.test.query<{ content: object }>(
      `select content from billing.plan_versions where tier = 'STANDARD' and retired_at is null`,
    );
    const dearer = JSON.parse(JSON.stringify(content).replace('"monthly":2900', '"monthly":3100')) as object;
    await changes.payInvoice((await invoiceList())[0]?.invoiceNumber ?? '');
    await billing.test.query(`select billing.seed_plans($1)`, [JSON.stringify({ plans: [dearer] })]);
    await billing.test.query(`select billing.seed_plans($1)`, [JSON.stringify({ plans: [dearer] })]);
    await pass(31);
    expect((await invoiceList()).map(({ amountCents }) => amountCents)).toEqual([3_567, 3_567]);
    const newcomer = await createProject(billing.test);
    await changes.set(newcomer.live.tenantId, { tier: 'STANDARD' });
    expect(
      (await invoices.page(newcomer.live, EVERY_ROUND)).items.map(({ amountCents }) => amountCents),
    ).toEqual([3_813]);
    expect(
      await billing.test.query(
        `select version from billing.plan_versions where tier = 'STANDARD' order by version`,
      ),
    ).toEqual([{ version: 1 }, { version: 2 }]);
  });

  it('put a tenant that an older version made on what it has, without a bill for the past', async () => {
    await billing.get(SubscriptionsService).startFree(live());
    await advance();
    expect(await invoiceList()).toEqual([]);
    expect(await changes.set(live(), { tier: 'STANDARD', trialDays: 10 })).toBe('begun');
    expect(await subscription()).toMatchObject({ status: 'TRIALING', planTier: 'STANDARD' });
    await changes.cancel(live(), 'at-period-end', 'not needed');
    await pass(11);
    expect(await subscription()).toMatchObject({ status: 'CANCELLED', cancellationReason: 'not needed' });
    expect(await invoiceList()).toEqual([]);
  });

  it('give 20 writers at once invoice numbers without a gap or a repeat, those that fail included', async () => {
    await changes.set(live(), { tier: 'STANDARD' });
    const writers = Array.from({ length: 20 }, (_, index) => index);
    const issuing = billing.get(InvoicesService);
    const [row] = await billing.test.query<{ id: number }>(
      `select id::int from billing.subscriptions where tenant_id = $1`,
      [live()],
    );
    const now = billing.clock.now();
    const outcomes = await Promise.allSettled(
      writers.map((index) =>
        billing.database.system(async () => {
          const line = {
            description: `Line ${index}`,
            amountCents: index,
            periodStart: now,
            periodEnd: new Date(now.getTime() + 1),
          };
          await issuing.issue(
            {
              tenantId: live(),
              tenantKey: 'ACME',
              subscriptionId: row?.id ?? 0,
              buyer: { name: 'Acme', address: null, taxId: null },
              reason: 'subscription_update',
              currency: 'USD',
              lines: [line],
            },
            now,
          );
          if (index % 4 === 0) throw new Error('changed my mind');
        }),
      ),
    );
    expect(outcomes.filter(({ status }) => status === 'rejected')).toHaveLength(5);
    const rows = await billing.test.query<{ number: number }>(
      'select number from billing.invoices where tenant_id = $1 order by number',
      [live()],
    );
    expect(rows.map(({ number }) => number)).toEqual(Array.from({ length: 16 }, (_, index) => index + 1));
  });
});

describe('A subscription', () => {
  it('to the free plan is begun once and then goes on month by month', async () => {
    expect(await subscription()).toBeNull();
    await changes.startFree(project.live.tenantId);
    billing.clock.advance(30 * DAY_MS);
    await changes.startFree(project.live.tenantId);
    expect(await billing.get(SubscriptionsQuery).ofTenant(project.test)).toMatchObject({
      planTier: 'FREE',
      status: 'ACTIVE',
      billingInterval: 'MONTHLY',
      isSendingAllowed: true,
      limits: { maxSubscribers: 10_000, maxProjects: 3, apiAccessEnabled: true, prioritySupport: false },
      anchoredAt: START,
      currentPeriod: {
        start: new Date('2026-02-28T10:00:00.000Z'),
        end: new Date('2026-03-31T10:00:00.000Z'),
      },
    });
  });

  it.each([
    ['TRIALING', true],
    ['ACTIVE', true],
    ['PAST_DUE', true],
    ['RESTRICTED', false],
    ['CANCELLED', false],
    ['EXPIRED', false],
  ])('that is %s: sending is allowed? %s', async (status, allowed) => {
    const { tenantId } = project.live;
    await changes.startFree(tenantId);
    await billing.test.query(`update billing.subscriptions set status = $2 where tenant_id = $1`, [
      tenantId,
      status,
    ]);
    expect((await subscription())?.isSendingAllowed).toBe(allowed);
  });
});

describe('The first project', () => {
  it('has the month of a tenant without a project wait until there is one to tell', async () => {
    const [tenant] = await billing.test.query<{ id: number }>(
      `insert into access.tenants (tenant_key, name, created_at, updated_at) values ('LATE', 'Late', now(), now()) returning id::int`,
    );
    const id = tenant?.id ?? 0;
    const started = () =>
      billing.test.query(`select 1 from platform.jobs where name = 'credits.grant_month'`);
    await billing.test.query('truncate billing.subscriptions, platform.jobs cascade');
    await changes.set(id, { tier: 'FREE' });
    await advance();
    expect(await started()).toEqual([]);
    await billing.get(PlanLimitsService).admitProject(id);
    await billing.test.query(
      `with p as (insert into access.projects (tenant_id, project_key, name, sender_name, postal_address, created_at, updated_at)
         values ($1, 'LATE', 'Late', 'Late', 'x', now(), now()) returning id)
       insert into access.project_environments (project_id, environment) select id, 'LIVE' from p`,
      [id],
    );
    await advance();
    expect(await started()).toHaveLength(1);
  });
});
