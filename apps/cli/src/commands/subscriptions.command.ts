import type { Command } from 'commander';
import type { BuyerDetails, ChangeOutcome, SubscriptionReport, WantedSubscription } from '#billing';
import { oneOf, withServices } from '../command.js';
import { namingOptions, OperatorError, UsageError } from '../failures.js';
import { findTenant } from '../names.js';
import type { OperatorServices } from '../operator-services.js';
import { type CliContext, facts, printing } from '../output.js';

interface SetOptions {
  readonly tenant: string;
  readonly plan?: string;
  readonly interval?: string;
  readonly currency?: string;
  readonly credits?: string;
  readonly trialDays?: string;
  readonly cancel?: true | 'now';
  readonly reason?: string;
  readonly provider?: string;
  readonly buyerName?: string;
  readonly buyerAddress?: string;
  readonly buyerTaxId?: string;
}

const TIERS = ['FREE', 'STANDARD', 'PRO'] as const;
const PROVIDERS = ['MANUAL', 'STRIPE'] as const;
const INTERVALS = ['MONTHLY', 'YEARLY'] as const;
const OPTIONS = {
  tier: '--plan',
  aiCredits: '--credits',
  currency: '--currency',
  trialDays: '--trial-days',
  provider: '--provider',
};

const OUTCOMES: Readonly<Record<ChangeOutcome | 'cancelled' | 'kept', string>> = {
  begun: 'The subscription begins now.',
  'at-once': 'The change is made.',
  'at-period-end': 'The change comes when the period ends.',
  unchanged: 'The subscription goes on as it is.',
  cancelled: 'The subscription is cancelled.',
  kept: 'The details are saved.',
};

export function addSubscriptionCommands(program: Command, cli: CliContext): void {
  program
    .command('subscription:show')
    .description('show a tenant’s subscription')
    .requiredOption('--tenant <key>', 'the tenant’s key')
    .action(
      printing(
        cli,
        ({ tenant }: Pick<SetOptions, 'tenant'>) =>
          withServices(cli, async (services) =>
            reportOf(services, (await findTenant(services.tenants, tenant)).id, tenant),
          ),
        asText,
      ),
    );
  program
    .command('subscription:set')
    .description('change a tenant’s subscription: upgrades apply at once, downgrades when the period ends')
    .requiredOption('--tenant <key>', 'the tenant’s key')
    .option('--plan <tier>', 'free, standard or pro')
    .option('--interval <interval>', 'monthly or yearly')
    .option('--currency <code>', 'ISO 4217, e.g. EUR')
    .option('--credits <number>', 'AI credits a month, one of the plan’s variants')
    .option('--trial-days <days>', 'days before the first invoice')
    .option('--cancel [when]', 'cancel when the period ends, or `now`')
    .option('--reason <text>', 'the reason for cancelling')
    .option('--provider <provider>', 'manual or stripe; a subscription paid through Stripe stays there')
    .option('--buyer-name <name>', 'the buyer on invoices, when not the tenant')
    .option('--buyer-address <address>', 'the buyer’s postal address; | begins a new line')
    .option('--buyer-tax-id <id>', 'the buyer’s tax number')
    .action(
      printing(
        cli,
        (options: SetOptions) => {
          const wanted = wantedOf(options);
          return withServices(cli, async (services) => {
            const { id } = await findTenant(services.tenants, options.tenant);
            const outcome = await namingOptions(OPTIONS, () => apply(services, id, options, wanted));
            return { outcome, ...(await reportOf(services, id, options.tenant)) };
          });
        },
        ({ outcome, ...report }) => `${OUTCOMES[outcome]}\n${asText(report)}`,
      ),
    );
}

async function apply(
  { accounts }: OperatorServices,
  tenantId: number,
  options: SetOptions,
  wanted: WantedSubscription,
): Promise<keyof typeof OUTCOMES> {
  const provider = oneOf(PROVIDERS, '--provider', options.provider);
  const outcome = await accounts.changeSubscription(tenantId, {
    ...wanted,
    provider,
    buyer: buyerOf(options),
  });
  if (options.cancel === undefined) return outcome;
  const when = options.cancel === 'now' ? 'at-once' : 'at-period-end';
  await accounts.cancelSubscription(tenantId, when, options.reason ?? null);
  return 'cancelled';
}

function wantedOf(options: SetOptions): WantedSubscription {
  if (options.cancel !== undefined && options.cancel !== true && options.cancel !== 'now') {
    throw new UsageError('--cancel must have no value, or `now`');
  }
  const wanted = {
    tier: oneOf(TIERS, '--plan', options.plan),
    interval: oneOf(INTERVALS, '--interval', options.interval),
    currency: options.currency?.toUpperCase(),
    aiCredits: wholeNumber('--credits', options.credits),
    trialDays: wholeNumber('--trial-days', options.trialDays),
  };
  const isChange = changesTerms(wanted);
  if (isChange && options.cancel !== undefined)
    throw new UsageError('--cancel cannot be combined with a change of plan');
  if (!isChange && options.cancel === undefined && Object.keys(buyerOf(options)).length === 0) {
    throw new UsageError('Name at least one option to set, e.g. --plan standard');
  }
  return wanted;
}

function changesTerms(wanted: WantedSubscription): boolean {
  return Object.values(wanted).some((value) => value !== undefined);
}

function buyerOf({ buyerName, buyerAddress, buyerTaxId }: SetOptions): BuyerDetails {
  return {
    ...(buyerName !== undefined && { name: buyerName }),
    ...(buyerAddress !== undefined && { address: buyerAddress.replaceAll('|', '\n') }),
    ...(buyerTaxId !== undefined && { taxId: buyerTaxId }),
  };
}

function wholeNumber(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,9}$/.test(given)) throw new UsageError(`${option} must be an integer`);
  return Number(given);
}

/** Throws an `OperatorError` when the tenant has no subscription. */
async function reportOf({ get }: OperatorServices, tenantId: number, tenantKey: string) {
  const { SubscriptionsQuery } = await import('#billing');
  const report = await get(SubscriptionsQuery).report(tenantId);
  if (report !== null) return report;
  throw new OperatorError(
    'no-subscription',
    `The tenant ${tenantKey} has no subscription. Give it one with \`mailwright subscription:set\`.`,
  );
}

function asText(report: SubscriptionReport): string {
  const known = Object.entries(report).filter(([, value]) => value !== null);
  const textOf = (value: unknown) => (value instanceof Date ? value.toISOString() : String(value));
  return facts(Object.fromEntries(known.map(([name, value]) => [name, textOf(value)])));
}
