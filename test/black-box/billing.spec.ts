import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ApiAnswer, ApiClient } from '#testing/http/api-client';
import { eventually } from '#testing/time/eventually';
import { runCliForJson } from '#testing/programs/operator-cli';
import { expectProblem } from '#testing/http/problems';
import { startSmtpSink } from '#testing/mail/smtp-sink';
import { StripeStandIn } from '#testing/servers/stripe-stand-in';
import { insertSubscribers } from '#testing/fixtures/subscribers';
import { type RunningSystem, startSystem, type SystemProject } from '#testing/programs/system';

/** Mails that the plan allows; a tenth of it per campaign, twenty campaigns. */
const QUOTA = Number(process.env['MAILWRIGHT_TEST_QUOTA'] ?? 100);
const CAMPAIGNS = 20;

interface Listed {
  readonly data: readonly Record<string, unknown>[];
}

describe('billing', () => {
  let sink: Awaited<ReturnType<typeof startSmtpSink>>;
  let stripe: StripeStandIn;
  let system: RunningSystem;
  let project: SystemProject;
  let client: ApiClient;
  let tenantKey: string;

  beforeAll(async () => {
    sink = await startSmtpSink({ keep: 'index' });
    stripe = new StripeStandIn(() => new Date());
    system = await startSystem({
      SMTP_URL: sink.url,
      REQUIRE_VERIFIED_DOMAIN: 'false',
      INVOICE_SELLER_NAME: 'Mailwright Ltd',
      INVOICE_TAX_RATE: '23',
      STRIPE_SECRET_KEY: 'sk_test_x',
      STRIPE_WEBHOOK_SECRET: stripe.secret,
      STRIPE_API_BASE: await stripe.start(),
    });
    project = await system.project();
    client = await project.client('LIVE');
    tenantKey = await tenantKeyOf(project);
  });
  afterAll(async () => {
    await system?.stop();
    await stripe?.stop();
    await sink?.stop();
  });

  const tenantKeyOf = async ({ live }: SystemProject) => {
    const [row] = await system.database.query<{ tenant_key: string }>(
      'select tenant_key from access.tenants where id = $1',
      [live.tenantId],
    );
    return row?.tenant_key ?? '';
  };
  const cli = (...args: readonly string[]) => runCliForJson({ ...system.variables }, args);
  const set = (tenant: string, ...args: readonly string[]) =>
    cli('subscription:set', '--tenant', tenant, ...args);
  const listed = (answer: ApiAnswer) => (answer.body as Listed).data;
  const plans = async (query = '') =>
    (await client.get(`/billing/plans${query}`)).body as readonly Record<string, unknown>[];
  const limitTo = (limit: string, value: number) =>
    system.database.query(
      `update billing.plan_versions set limits = limits || jsonb_build_object($1::text, $2::int) where tier = 'FREE'`,
      [limit, value],
    );

  it('shows a free subscription to both environments of a project, and nothing to a tenant without one', async () => {
    const subscription = await client.get('/billing/subscription');
    expect(subscription.status).toBe(200);
    expect(subscription.body).toMatchObject({
      planTier: 'FREE',
      status: 'ACTIVE',
      billingInterval: 'MONTHLY',
      aiCreditsTier: 50,
      pendingPlanTier: null,
      cancelAtPeriodEnd: false,
      isSendingAllowed: true,
      limits: { maxSubscribers: 10_000, maxProjects: 3 },
    });
    expect((await (await project.client('TEST')).get('/billing/subscription')).at('id')).toBe(
      subscription.at('id'),
    );
    const bare = await system.project('BARE');
    await system.database.query('delete from billing.subscriptions where tenant_id = $1', [
      bare.live.tenantId,
    ]);
    const stranger = await bare.client('LIVE');
    expectProblem(await stranger.get('/billing/subscription'), 404, 'not-found');
    expectProblem(await stranger.get('/billing/usage'), 404, 'not-found');
    expect(listed(await stranger.get('/billing/invoices'))).toEqual([]);
  });

  it('lists the plans in the currency asked for, in US dollars where there is no price in it', async () => {
    expect(await plans()).toMatchObject([
      { tier: 'FREE', isCurrent: true, variants: [{ aiCredits: 50, monthlyPriceCents: 0 }] },
      { tier: 'STANDARD', isCurrent: false },
      { tier: 'PRO', isCurrent: false, limits: { maxSubscribers: -1 } },
    ]);
    const variantOf = async (query: string) => (await plans(query))[1]?.['variants'] as readonly object[];
    expect((await variantOf('?currency=EUR'))[0]).toMatchObject({
      monthlyPriceCents: 2_700,
      yearlyPriceCents: 27_000,
      baseCurrency: 'EUR',
    });
    expect((await variantOf('?currency=jpy'))[0]).toMatchObject({
      monthlyPriceCents: 2_900,
      baseCurrency: 'USD',
    });
    const refused = await client.get('/billing/plans?currency=ABC');
    expectProblem(refused, 400, 'validation-error', {
      errors: { currency: 'must be an ISO 4217 currency code' },
    });
  });

  it('bills an upgrade by the operator with an invoice that has a page and a PDF, until it is paid', async () => {
    await set(tenantKey, '--plan', 'standard', '--currency', 'EUR');
    expect((await client.get('/billing/subscription')).body).toMatchObject({
      planTier: 'STANDARD',
      aiCreditsTier: 500,
    });
    const [invoice] = listed(await client.get('/billing/invoices'));
    expect(invoice).toMatchObject({
      status: 'OPEN',
      amountCents: 3_321,
      currency: 'EUR',
      externalId: null,
      invoiceNumber: expect.stringMatching(new RegExp(`^${tenantKey}-\\d{4}-000001$`)),
      billingReason: 'subscription_create',
      paidAt: null,
    });
    const url = String(invoice?.['invoiceUrl']);
    const page = await fetch(url);
    expect([page.status, page.headers.get('cache-control')]).toEqual([200, 'no-store']);
    const markup = await page.text();
    expect(markup).toContain('<bdi>33.21 EUR</bdi> due on');
    expect(markup).toContain('VAT 23%');
    const pdf = await fetch(`${url}.pdf`);
    expect(pdf.headers.get('content-type')).toBe('application/pdf');
    expect(pdf.headers.get('content-disposition')).toContain(`${tenantKey}-`);
    expect(
      Buffer.from(await pdf.arrayBuffer())
        .subarray(0, 5)
        .toString(),
    ).toBe('%PDF-');
    expect((await fetch(url.replace(/.$/, (last) => (last === 'A' ? 'B' : 'A')))).status).toBe(404);
    await cli('invoice:pay', '--invoice', String(invoice?.['invoiceNumber']));
    expect(listed(await client.get('/billing/invoices'))).toMatchObject([
      { status: 'PAID', paidAt: expect.any(String) },
    ]);
    expect(await (await fetch(url)).text()).toContain('<bdi>33.21 EUR</bdi> paid on');
  });

  it('never shows an invoice to another tenant', async () => {
    const stranger = await (await system.project('OTHER')).client('LIVE');
    expect(listed(await stranger.get('/billing/invoices'))).toEqual([]);
    expect(listed(await (await project.client('TEST')).get('/billing/invoices'))).toHaveLength(1);
  });

  it('makes as many campaigns a month as the plan allows, asked for at once, and no limit in the test environment', async () => {
    const limited = await system.project('LIMIT');
    await limitTo('maxCampaignsPerMonth', 5);
    const live = await limited.client('LIVE');
    const make = (from: ApiClient) => from.post('/campaigns', { name: 'News', subject: 'Hello' });
    const answers = await Promise.all(Array.from({ length: 12 }, () => make(live)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(5);
    const refused = answers.find(({ status }) => status !== 201);
    if (refused === undefined) throw new Error('None was refused.');
    expectProblem(refused, 422, 'domain-validation', {
      errors: { plan: "the plan's limit of 5 campaigns a month is reached" },
    });
    const test = await limited.client('TEST');
    expect((await Promise.all([make(test), make(test)])).map(({ status }) => status)).toEqual([201, 201]);
    expect((await live.get('/billing/usage')).body).toMatchObject({
      campaignsCurrentMonth: 5,
      campaignsLimit: 5,
      campaignsPercent: 100,
    });
    await limitTo('maxCampaignsPerMonth', 500);
  });

  it('sends exactly the mails of the plan, however many campaigns are sent at once, and its usage says what the rows say', async () => {
    const sender = await system.project('SENDER');
    await limitTo('maxEmailsPerMonth', QUOTA);
    const live = await sender.client('LIVE');
    const topic = await live.post('/topics', { name: 'News', doubleOptInEnabled: false });
    await insertSubscribers(system.database, sender.live, topic.at('id'), QUOTA / 10);
    const keys: string[] = [];
    for (let made = 0; made < CAMPAIGNS; made += 1) {
      const campaign = { name: 'News', subject: 'Hello', contentText: 'Hi.', topicIds: [topic.at('id')] };
      keys.push((await live.post('/campaigns', campaign)).at('campaignKey'));
    }
    const answers = await Promise.all(keys.map((key) => live.post(`/campaigns/${key}/send`)));
    expect(answers.filter(({ status }) => status === 200)).toHaveLength(10);
    expect(answers.filter(({ status }) => status === 409)).toHaveLength(10);
    const count = async (text: string) => {
      const [row] = await system.database.query<{ count: number }>(text, [sender.live.environmentId]);
      return row?.count;
    };
    const sent = `select count(*)::int as count from messaging.deliveries where environment_id = $1 and state = 'SENT'`;
    await eventually('all of them are sent', async () => (await count(sent)) === QUOTA);
    await eventually('no campaign is under way', async () => {
      const open = `select count(*)::int as count from messaging.campaigns where environment_id = $1 and status not in ('SENT', 'DRAFT')`;
      return (await count(open)) === 0;
    });
    expect(await count(sent)).toBe(QUOTA);
    expect((await live.get('/billing/usage')).body).toMatchObject({
      emailsCurrentMonth: QUOTA,
      emailsLimit: QUOTA,
      emailsPercent: 100,
      campaignsCurrentMonth: await count(
        'select count(*)::int as count from messaging.campaigns where environment_id = $1',
      ),
      projectsCurrent: 1,
      projectsLimit: 3,
    });
    await limitTo('maxEmailsPerMonth', 50_000);
  });

  it('counts the subscribers of all live environments in its usage, and refuses more than the plan allows', async () => {
    const crowded = await system.project('CROWD');
    await limitTo('maxSubscribers', 8);
    const live = await crowded.client('LIVE');
    const topic = await live.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const subscribe = (index: number) =>
      live.post('/subscribers', {
        email: `reader${index}@example.com`,
        topicKeys: [topic.at('topicKey')],
        consent: { source: 'form' },
      });
    const answers = await Promise.all(Array.from({ length: 12 }, (_, index) => subscribe(index)));
    expect(answers.filter(({ status }) => status === 201)).toHaveLength(8);
    expect(answers.filter(({ status }) => status === 422)).toHaveLength(4);
    expect((await live.get('/billing/usage')).body).toMatchObject({
      subscribersCurrent: 8,
      subscribersLimit: 8,
      subscribersPercent: 100,
    });
    const imported = await live.post('/subscriber-imports', {
      rows: [{ email: 'reader99@example.com' }, { email: 'late@example.com' }],
      topicKeys: [topic.at('topicKey')],
      consent: { source: 'file' },
    });
    const path = `/subscriber-imports/${imported.at('id')}`;
    const done = await eventually('the import is done', async () => {
      const answer = await live.get(path);
      return answer.at('status') === 'COMPLETED' ? answer : null;
    });
    expect(done.at('counts')).toEqual({ total: 2, created: 0, updated: 0, skipped: 0, failed: 2 });
    expect((await live.get(`${path}/errors`)).text).toContain('plan');
    expect((await live.get('/billing/usage')).at('subscribersCurrent')).toBe(8);
    await limitTo('maxSubscribers', 10_000);
  });

  it('refuses custom fields and segments with rules where the plan does not include them', async () => {
    const basic = await (await system.project('BASIC')).client('LIVE');
    const field = { key: 'plan', displayName: 'Plan', type: 'TEXT' };
    const rules = JSON.stringify({ where: { field: 'email', op: 'contains', value: 'example' } });
    const include = (included: boolean) =>
      system.database.query(
        `update billing.plan_versions set limits = limits
           || jsonb_build_object('customFieldsEnabled', $1::boolean, 'advancedSegmentsEnabled', $1::boolean)
         where tier = 'FREE'`,
        [included],
      );
    await include(false);
    expectProblem(await basic.post('/custom-fields', field), 422, 'domain-validation', {
      errors: { plan: 'the plan does not include custom fields' },
    });
    expectProblem(await basic.post('/segments', { name: 'Some', rules }), 422, 'domain-validation', {
      errors: { plan: 'the plan does not include segments with rules' },
    });
    expect((await basic.post('/segments', { name: 'Chosen' })).status).toBe(201);
    await include(true);
    expect((await basic.post('/custom-fields', field)).status).toBe(201);
  });

  it('refuses a sending domain where the plan does not include one', async () => {
    const basic = await (await system.project('NODOM')).client('LIVE');
    const include = (included: boolean) =>
      system.database.query(
        `update billing.plan_versions set limits = limits || jsonb_build_object('customDomainEnabled', $1::boolean)`,
        [included],
      );
    await include(false);
    const answer = await basic.post('/sending-domain', { domainName: 'news.acme.example' });
    await include(true);
    expect([answer.status, answer.at('type'), answer.at('errors')]).toEqual([
      422,
      expect.stringMatching(/\/domain-validation$/),
      { plan: 'the plan does not include a sending domain' },
    ]);
  });

  it('refuses to send while nobody has paid', async () => {
    const debtor = await system.project('DEBTOR');
    const test = await debtor.client('TEST');
    const topic = await test.post('/topics', { name: 'News', doubleOptInEnabled: false });
    const campaign = await test.post('/campaigns', {
      name: 'News',
      subject: 'Hello',
      contentText: 'Hi.',
      topicIds: [topic.at('id')],
    });
    await set(await tenantKeyOf(debtor), '--cancel', 'now');
    const refused = await test.post(`/campaigns/${campaign.at('campaignKey')}/send`);
    expect(refused.status).toBe(409);
    expect(JSON.stringify(refused.body)).toContain('subscription-active');
  });

  it('follows Stripe: a signed event of a payment makes the invoice paid, an unsigned one is refused', async () => {
    const payer = await system.project('PAYER');
    const live = await payer.client('LIVE');
    const tenant = await tenantKeyOf(payer);
    const unplanned = set(tenant, '--provider', 'stripe', '--buyer-name', 'Payer AG');
    await expect(unplanned).rejects.toThrow('--plan is required to begin a subscription at Stripe');
    await set(tenant, '--plan', 'pro', '--provider', 'stripe');
    const [invoice] = listed(await live.get('/billing/invoices'));
    const externalId = String(invoice?.['externalId']);
    expect(invoice).toMatchObject({ status: 'OPEN', invoiceNumber: expect.stringMatching(/-000001$/) });
    stripe.pay(externalId);
    const { payload, signature } = stripe.event('invoice.paid', { id: externalId });
    const post = (header: Record<string, string>) =>
      fetch(`${system.baseUrl}/stripe/webhooks`, {
        method: 'POST',
        headers: { 'content-type': 'application/json; charset=utf-8', ...header },
        body: payload,
      });
    expect((await post({})).status).toBe(401);
    expect((await post({ 'stripe-signature': signature.replace('v1=', 'v1=0') })).status).toBe(401);
    expect((await post({ 'stripe-signature': signature })).status).toBe(200);
    expect((await post({ 'stripe-signature': signature })).status).toBe(200);
    await eventually('it is paid', async () => {
      const [now] = listed(await live.get('/billing/invoices'));
      return now?.['status'] === 'PAID';
    });
  });
});
