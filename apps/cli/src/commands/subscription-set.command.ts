import type { Command } from 'commander';
import type { BuyerDetails, ChangeOutcome, WantedSubscription } from '#billing';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions, UsageError } from '../failures.js';
import { findTenant } from '../find-tenant.js';
import type { OperatorServices } from '../operator-services.js';
import { describeSubscription, subscriptionReport } from './subscription-show.command.js';

interface Options {
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
  readonly json?: true;
}

const TIERS = ['FREE', 'STANDARD', 'PRO'] as const;
const PROVIDERS = ['MANUAL', 'STRIPE'] as const;
const INTERVALS = ['MONTHLY', 'YEARLY'] as const;
const OPTIONS = {
  tier: '--plan',
  aiCredits: '--credits',
  currency: '--currency',
  trialDays: '--trial-days',
};

const OUTCOMES: Readonly<Record<ChangeOutcome | 'cancelled' | 'kept', string>> = {
  begun: 'The subscription begins now.',
  'at-once': 'The change is made.',
  'at-period-end': 'The change comes when the period ends.',
  unchanged: 'The subscription goes on as it is.',
  cancelled: 'The subscription is cancelled.',
  kept: 'The details are saved.',
};

export function addSubscriptionSet(program: Command, cli: CliContext): void {
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
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const wanted = wantedOf(options);
      const { withServices } = await import('../operator-services.js');
      const result = await withServices(cli.env, async (services) => {
        const { id } = findTenant(await services.tenants.list(), options.tenant);
        const outcome = await namingOptions(OPTIONS, () => apply(services, id, options, wanted));
        return { outcome, report: await subscriptionReport(services, id, options.tenant) };
      });
      printResult(
        cli,
        options.json,
        { outcome: result.outcome, ...result.report },
        () => `${OUTCOMES[result.outcome]}\n${describeSubscription(result.report)}`,
      );
    });
}

async function apply(
  services: OperatorServices,
  tenantId: number,
  options: Options,
  wanted: WantedSubscription,
): Promise<keyof typeof OUTCOMES> {
  const { StripeSubscriptionsService } = await import('#billing');
  const provider = oneOf(PROVIDERS, '--provider', options.provider);
  const changes = services.subscriptions;
  const buyer = buyerOf(options);
  if (Object.keys(buyer).length > 0) await changes.setBuyer(tenantId, buyer);
  const isAtStripe = await changes.isPaidElsewhere(tenantId);
  if (isAtStripe && provider === 'MANUAL') {
    throw new UsageError('The subscription is paid through Stripe: cancel it there first, with --cancel');
  }
  const target = isAtStripe || provider === 'STRIPE' ? services.get(StripeSubscriptionsService) : changes;
  if (options.cancel !== undefined) {
    const when = options.cancel === 'now' ? 'at-once' : 'at-period-end';
    await target.cancel(tenantId, when, options.reason ?? null);
    return 'cancelled';
  }
  const changesTerms = Object.values(wanted).some((value) => value !== undefined);
  return changesTerms ? target.set(tenantId, wanted) : 'kept';
}

function wantedOf(options: Options): WantedSubscription {
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
  const isChange = Object.values(wanted).some((value) => value !== undefined);
  if (isChange && options.cancel !== undefined)
    throw new UsageError('--cancel cannot be combined with a change of plan');
  if (!isChange && options.cancel === undefined && Object.keys(buyerOf(options)).length === 0) {
    throw new UsageError('Name at least one option to set, e.g. --plan standard');
  }
  return wanted;
}

function buyerOf({ buyerName, buyerAddress, buyerTaxId }: Options): BuyerDetails {
  return {
    ...(buyerName !== undefined && { name: buyerName }),
    ...(buyerAddress !== undefined && { address: buyerAddress.replaceAll('|', '\n') }),
    ...(buyerTaxId !== undefined && { taxId: buyerTaxId }),
  };
}

function oneOf<Value extends string>(
  values: readonly Value[],
  option: string,
  given: string | undefined,
): Value | undefined {
  if (given === undefined) return undefined;
  const value = values.find((candidate) => candidate === given.toUpperCase());
  if (value === undefined)
    throw new UsageError(`${option} must be one of ${values.join(', ').toLowerCase()}`);
  return value;
}

function wholeNumber(option: string, given: string | undefined): number | undefined {
  if (given === undefined) return undefined;
  if (!/^\d{1,9}$/.test(given)) throw new UsageError(`${option} must be an integer`);
  return Number(given);
}
