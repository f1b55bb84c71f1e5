import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import type { withServices } from '../operator-services.js';
import { table } from '../table.js';

type Value = string | number | Date | null;

interface Check<Field extends string> {
  readonly command: string;
  readonly description: string;
  readonly find: (run: typeof withServices) => Promise<readonly Readonly<Record<Field, Value>>[]>;
  /** The columns to show, by their headings. */
  readonly columns: Readonly<Record<string, Field>>;
  readonly differ: string;
  readonly correct: string;
}

export function addCheckAutomations(program: Command, cli: CliContext): void {
  addCheck(program, cli, {
    command: 'check:automations',
    description: 'compare all automations’ counters with their runs; exits with 1 when they differ',
    find: async (run) => {
      const { AutomationsModule, AutomationsQuery } = await import('#messaging');
      return run(cli.env, ({ get }) => get(AutomationsQuery).discrepancies(), [AutomationsModule]);
    },
    columns: { AUTOMATION: 'automationId', COUNTER: 'counter', COUNTED: 'counted', ACTUAL: 'actual' },
    differ: 'Counters differ.',
    correct: 'All counters are correct.',
  });
}

export function addCheckStatistics(program: Command, cli: CliContext): void {
  addCheck(program, cli, {
    command: 'check:statistics',
    description:
      'compare all campaigns’ counters with their deliveries and events; exits with 1 when they differ',
    find: async (run) => {
      const { MessagingModule, StatisticsCheckQuery } = await import('#messaging');
      return run(cli.env, ({ get }) => get(StatisticsCheckQuery).discrepancies(), [MessagingModule]);
    },
    columns: {
      CAMPAIGN: 'campaignId',
      COUNTER: 'counter',
      MINUTE: 'minute',
      COUNTED: 'counted',
      ACTUAL: 'actual',
    },
    differ: 'Counters differ.',
    correct: 'All counters are correct.',
  });
}

export function addCheckCredits(program: Command, cli: CliContext): void {
  addCheck(program, cli, {
    command: 'check:credits',
    description: 'compare the balances of AI credits with their ledgers; exits with 1 when they differ',
    find: async (run) => {
      const { CreditsQuery } = await import('#billing');
      return run(cli.env, ({ get }) => get(CreditsQuery).discrepancies());
    },
    columns: { TENANT: 'tenantId', WHAT: 'what', ROW: 'sequence', KEPT: 'kept', ACTUAL: 'actual' },
    differ: 'Credits differ.',
    correct: 'All balances match their ledgers.',
  });
}

export function addCheckStripe(program: Command, cli: CliContext): void {
  addCheck(program, cli, {
    command: 'check:stripe',
    description: 'look for what Stripe bills tenants for and Mailwright does not know; exits with 1 for any',
    find: async (run) => {
      const { StripeSubscriptionsService } = await import('#billing');
      return run(cli.env, ({ get }) => get(StripeSubscriptionsService).strays());
    },
    columns: { TENANT: 'tenantId', OBJECT: 'objectId', SOURCE: 'source' },
    differ: 'Stripe bills for what is not known here. Cancel it at Stripe, or give the money back.',
    correct: 'Nothing at Stripe is unknown here.',
  });
}

function addCheck<Field extends string>(program: Command, cli: CliContext, check: Check<Field>): void {
  const { command, description, find, columns, differ, correct } = check;
  program
    .command(command)
    .description(description)
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const services = await import('../operator-services.js');
      const found = await find(services.withServices);
      const rows = found.map((one) => Object.values(columns).map((field) => asText(one[field])));
      if (rows.length > 0)
        throw new OperatorError('discrepancies', `${differ}\n${table(Object.keys(columns), rows)}`);
      printResult(cli, json, { discrepancies: found }, () => correct);
    });
}

function asText(value: Value): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '');
}
