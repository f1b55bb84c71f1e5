import type { Command } from 'commander';
import type { CounterCheck } from '#audience';
import type { AuditCheck } from '#platform';
import { withServices } from '../command.js';
import { OperatorError } from '../failures.js';
import { type CliContext, type JsonOption, printing, printResult, table } from '../output.js';

type Value = string | number | Date | null;

/** A check that lists rows, one for each discrepancy. */
interface Check<Field extends string> {
  readonly command: string;
  readonly description: string;
  readonly find: () => Promise<readonly Readonly<Record<Field, Value>>[]>;
  /** The columns to show, by their headings. */
  readonly columns: Readonly<Record<string, Field>>;
  readonly differ: string;
  readonly correct: string;
}

interface CountersResult extends CounterCheck {
  /** The number of corrected counters; 0 without `--repair`. */
  readonly repaired: number;
}

/** Commands that compare stored figures with the rows they stand for; a discrepancy ends with 1. */
export function addCheckCommands(program: Command, cli: CliContext): void {
  program
    .command('check:counters')
    .description('compare the counters of subscribers, consents and suppressions with their rows')
    .option('--repair', 'correct wrong counters')
    .action(async ({ repair, json }: JsonOption & { readonly repair?: true }) => {
      const result = await checkCounters(cli, repair === true);
      printResult(cli, { json }, result, () => countersText(result));
      refuseDifferences(result);
    });
  program
    .command('check:audit')
    .description(
      'compute the chains of all audit logs anew; exits with 1 for a row that was changed or is missing',
    )
    .action(printing(cli, () => checkAudit(cli), auditText));
  addCheck(program, cli, {
    command: 'check:automations',
    description:
      'compare all automations’ counters with their runs, steps, mails and events; exits with 1 when they differ',
    find: async () => {
      const { automationDiscrepancies } = await import('#messaging');
      return withServices(cli, ({ database }) => automationDiscrepancies(database));
    },
    columns: {
      AUTOMATION: 'automationId',
      NODE: 'nodeId',
      COUNTER: 'counter',
      DAY: 'day',
      COUNTED: 'counted',
      ACTUAL: 'actual',
    },
    differ: 'Counters differ.',
    correct: 'All counters are correct.',
  });
  addCheck(program, cli, {
    command: 'check:statistics',
    description:
      'compare all campaigns’ counters with their deliveries and events; exits with 1 when they differ',
    find: async () => {
      const { statisticsDiscrepancies } = await import('#messaging');
      return withServices(cli, ({ database }) => statisticsDiscrepancies(database));
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
  addCheck(program, cli, {
    command: 'check:credits',
    description: 'compare the balances of AI credits with their ledgers; exits with 1 when they differ',
    find: async () => {
      const { CreditsQuery } = await import('#billing');
      return withServices(cli, ({ get }) => get(CreditsQuery).discrepancies());
    },
    columns: { TENANT: 'tenantId', WHAT: 'what', ROW: 'sequence', KEPT: 'kept', ACTUAL: 'actual' },
    differ: 'Credits differ.',
    correct: 'All balances match their ledgers.',
  });
  addCheck(program, cli, {
    command: 'check:stripe',
    description: 'look for what Stripe bills tenants for and Mailwright does not know; exits with 1 for any',
    find: async () => {
      const { StripeSubscriptionsService } = await import('#billing');
      return withServices(cli, ({ get }) => get(StripeSubscriptionsService).strays());
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
    .action(
      printing(
        cli,
        async () => {
          const discrepancies = await find();
          if (discrepancies.length > 0)
            throw new OperatorError('discrepancies', `${differ}\n${listed(columns, discrepancies)}`);
          return { discrepancies };
        },
        () => correct,
      ),
    );
}

function asText(value: Value): string {
  return value instanceof Date ? value.toISOString() : String(value ?? '');
}

async function checkCounters(cli: CliContext, repair: boolean): Promise<CountersResult> {
  const { AudienceModule, CountersService } = await import('#audience');
  return withServices(
    cli,
    async ({ get }) => {
      const counters = get(CountersService);
      const found = await counters.check();
      const repaired = repair && found.differences.length > 0 ? await counters.repair() : 0;
      return { ...found, repaired };
    },
    [AudienceModule],
  );
}

async function checkAudit(cli: CliContext): Promise<Omit<AuditCheck, 'faults'>> {
  const { checkAuditLogs } = await import('#platform');
  const { faults, ...checked } = await withServices(cli, ({ database, clock }) =>
    checkAuditLogs(database, clock.now()),
  );
  if (faults.length > 0)
    throw new OperatorError('audit-log-broken', `The audit log is not whole.\n${listed(FAULTS, faults)}`);
  return checked;
}

function auditText({ rows, heads }: Omit<AuditCheck, 'faults'>): string {
  const summary = `${rows} rows are as they were written.`;
  return heads.length === 0
    ? summary
    : `${summary} Keep the last of each elsewhere, to see later that none was cut off:\n${listed(HEADS, heads)}`;
}

function refuseDifferences(result: CountersResult): void {
  const wrong = result.differences.length - result.repaired;
  if (wrong > 0)
    throw new OperatorError(
      'counters-differ',
      wrong === 1 ? '1 counter is wrong.' : `${wrong} counters are wrong.`,
    );
  if (result.statusDifferences.length > 0)
    throw new OperatorError('statuses-differ', 'Some subscribers have a wrong status.');
  if (result.strayConsents.length > 0)
    throw new OperatorError('consents-stray', 'Some consents belong to no subscriber or no topic.');
}

function countersText(result: CountersResult): string {
  const { differences, statusDifferences, strayConsents, repaired } = result;
  return [
    `${result.counters} counters were compared with their rows.`,
    listed(COUNTERS, differences),
    listed(STATUSES, statusDifferences),
    listed(STRAYS, strayConsents),
    repaired > 0 ? `Repaired ${repaired}.` : '',
  ]
    .filter((part) => part !== '')
    .join('\n\n');
}

const COUNTERS = {
  ENVIRONMENT: 'environmentId',
  KIND: 'kind',
  KEY: 'key',
  STATE: 'state',
  COUNTER: 'counter',
  COUNTED: 'counted',
} as const;
const FAULTS = { ENVIRONMENT: 'environmentId', ROW: 'sequence', FAULT: 'fault' } as const;
const HEADS = { ENVIRONMENT: 'environmentId', ROW: 'sequence', HASH: 'hash' } as const;
const STATUSES = {
  ENVIRONMENT: 'environmentId',
  STATUS: 'status',
  'SHOULD BE': 'derived',
  SUBSCRIBERS: 'subscribers',
} as const;
const STRAYS = { ENVIRONMENT: 'environmentId', 'WITHOUT ITS': 'missing', CONSENTS: 'consents' } as const;

/** A table of the fields in `columns`, by their headings; '' without rows. */
function listed<Field extends string>(
  columns: Readonly<Record<string, Field>>,
  rows: readonly Readonly<Record<Field, Value>>[],
): string {
  if (rows.length === 0) return '';
  const shown = rows.map((row) => Object.values(columns).map((field) => asText(row[field])));
  return table(Object.keys(columns), shown);
}
