import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createTestDatabase, type TestDatabase } from '#testing/postgres/database';
import { runCli, runCliForJson } from '#testing/programs/operator-cli';

describe('The operator’s billing commands', () => {
  let test: TestDatabase;

  beforeAll(async () => {
    test = await createTestDatabase();
  });
  afterAll(() => test.drop());

  beforeEach(async () => {
    await test.query('truncate access.tenants, billing.subscriptions, billing.invoice_numbers cascade');
    await run('tenant:create', '--key', 'ACME', '--name', 'Acme Ltd');
  });

  const run = (...args: readonly string[]) => runCli({ DATABASE_URL: test.url }, args);
  const json = (...args: readonly string[]) => runCliForJson({ DATABASE_URL: test.url }, args);
  const lists = async (...args: readonly string[]) =>
    (await json(...args)) as unknown as readonly Record<string, unknown>[];
  const set = (...args: readonly string[]) => json('subscription:set', '--tenant', 'ACME', ...args);
  const projects = (key: string) =>
    run(
      'project:create',
      '--tenant',
      'ACME',
      '--key',
      key,
      '--name',
      key,
      '--sender-name',
      'Acme',
      '--postal-address',
      'x',
    );

  it('list the plans on offer with their prices', async () => {
    const plans = await lists('plan:list');
    expect(plans.map(({ tier, version }) => [tier, version])).toEqual([
      ['FREE', 1],
      ['STANDARD', 1],
      ['PRO', 1],
    ]);
    expect((await run('plan:list')).stdout).toMatch(/^PRO +1 +5000 +EUR +139\.00 EUR +1,390\.00 EUR$/m);
  });

  it('upgrade a tenant, take its payment, downgrade and cancel it', async () => {
    expect(
      await set('--plan', 'standard', '--currency', 'eur', '--buyer-address', '1 Main Street|Springfield'),
    ).toMatchObject({
      outcome: 'begun',
      planTier: 'STANDARD',
      status: 'ACTIVE',
      openInvoices: 1,
    });
    expect(await set('--plan', 'pro', '--credits', '5000')).toMatchObject({
      outcome: 'at-once',
      aiCredits: 5_000,
    });
    const invoices = await lists('invoice:list', '--tenant', 'ACME');
    const [second = '', first = ''] = invoices.map(({ invoiceNumber }) => String(invoiceNumber));
    expect(first).toMatch(/^ACME-\d{4}-000001$/);
    // Each year has its own, and one may have ended meanwhile.
    const isSameYear = second.slice(0, 9) === first.slice(0, 9);
    expect(second).toMatch(isSameYear ? /-000002$/ : /^ACME-\d{4}-000001$/);
    expect(invoices.map(({ status }) => status)).toEqual(['OPEN', 'OPEN']);
    await json('invoice:pay', '--invoice', first);
    await json('invoice:void', '--invoice', second);
    expect(await lists('invoice:list', '--tenant', 'ACME', '--status', 'paid')).toMatchObject([
      { invoiceNumber: first, amountCents: 2_700, currency: 'EUR' },
    ]);
    expect(await set('--plan', 'free')).toMatchObject({
      outcome: 'at-period-end',
      planTier: 'PRO',
      pendingPlanTier: 'FREE',
    });
    expect(await set('--cancel', '--reason', 'moved')).toMatchObject({
      outcome: 'cancelled',
      cancelAtPeriodEnd: true,
    });
    expect(await set('--cancel', 'now')).toMatchObject({ status: 'CANCELLED' });
    expect(await json('subscription:show', '--tenant', 'ACME')).toMatchObject({ status: 'CANCELLED' });
    expect(await test.query('select buyer from billing.invoices order by id limit 1')).toEqual([
      { buyer: { name: 'Acme Ltd', address: '1 Main Street\nSpringfield', taxId: null } },
    ]);
  });

  it('give a link to the page of an invoice once the tenant has a project', async () => {
    await projects('APIT');
    await set('--plan', 'pro');
    const [invoice] = await lists('invoice:list', '--tenant', 'ACME');
    expect(invoice?.['invoiceUrl']).toMatch(/^http:\/\/localhost:3000\/i\/[\w-]{58}$/);
  });

  it.each([
    [['--plan', 'gold'], 2, '--plan must be one of free, standard, pro'],
    [['--plan', 'standard', '--credits', '7'], 2, '--credits must be one of 500, 1000, 2500'],
    [['--plan', 'standard', '--currency', 'PLN'], 2, '--currency must be one of EUR, GBP, USD'],
    [['--plan', 'standard', '--trial-days', '0'], 2, '--trial-days must be an integer from 1 to 365'],
    [['--plan', 'standard', '--cancel'], 2, '--cancel cannot be combined with a change of plan'],
    [[], 2, 'Name at least one option to set, e.g. --plan standard'],
  ])('refuse subscription:set %j', async (args, exitCode, message) => {
    const outcome = await run('subscription:set', '--tenant', 'ACME', ...args);
    expect(outcome.exitCode).toBe(exitCode);
    expect(outcome.stderr).toContain(message);
  });

  it('refuse to pay what is not there, or paid', async () => {
    expect((await run('invoice:pay', '--invoice', 'ACME-2026-000009')).stderr).toContain(
      'There is no invoice ACME-2026-000009.',
    );
    await set('--plan', 'standard');
    const [invoice] = await lists('invoice:list', '--tenant', 'ACME');
    const number = String(invoice?.['invoiceNumber']);
    await json('invoice:pay', '--invoice', number);
    const again = await run('invoice:pay', '--invoice', number);
    expect([again.exitCode, again.stderr]).toEqual([
      1,
      `The invoice ${number} is PAID: nobody can pay it.\n`,
    ]);
  });

  it('make as many projects as the plan allows, and not one more, asked for at once', async () => {
    const outcomes = await Promise.all(['ONE', 'TWO', 'THREE', 'FOUR', 'FIVE'].map(projects));
    expect(outcomes.map(({ exitCode }) => exitCode).sort((a, b) => a - b)).toEqual([0, 0, 0, 1, 1]);
    expect(outcomes.find(({ exitCode }) => exitCode === 1)?.stderr).toBe(
      'The plan’s limit of 3 projects is reached.\n',
    );
    await set('--plan', 'pro');
    expect((await projects('SIX')).exitCode).toBe(0);
  });

  it('give a tenant credits, correct them, and add the ledger up', async () => {
    expect(await json('credits:grant', '--tenant', 'ACME', '--credits', '100')).toMatchObject({
      tenantKey: 'ACME',
      type: 'GRANT',
      amount: 100,
      balanceAfter: 100,
      description: 'Granted by the operator',
    });
    const adjust = ['credits:adjust', '--tenant', 'ACME', '--description', 'Given twice'];
    expect(await run(...adjust, '--credits', '-30')).toEqual({
      exitCode: 0,
      stdout: 'ACME has 70 AI credits.\n',
      stderr: '',
    });
    expect(await run(...adjust, '--credits', '-71')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--credits takes more than there is: the balance is 70'),
    });
    expect(await run('credits:grant', '--tenant', 'ACME', '--credits', 'many')).toMatchObject({
      exitCode: 2,
      stderr: expect.stringContaining('--credits must be an integer'),
    });
    expect(await run('credits:grant', '--tenant', 'ACNE', '--credits', '1')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('Did you mean ACME?'),
    });
    expect(await json('check:credits')).toEqual({ discrepancies: [] });
  });

  it('find a balance that is not what the ledger adds up to', async () => {
    await json('credits:grant', '--tenant', 'ACME', '--credits', '70');
    await test.query(
      `alter table billing.credit_accounts disable trigger follows_the_ledger; update billing.credit_accounts set balance = 71`,
    );
    expect(await run('check:credits')).toMatchObject({
      exitCode: 1,
      stderr: expect.stringMatching(/balance +71 +70/),
    });
  });
});
