import type { Command } from 'commander';
import { type EmailAddress, parseEmailAddress } from '#kernel';
import type { PersonExport } from '#messaging';
import { type EnvironmentOptions, inEnvironment, withEnvironmentOptions } from '../command.js';
import { OperatorError, UsageError, whenNotFound } from '../failures.js';
import { type CliContext, printing } from '../output.js';

interface SubscriberOptions extends EnvironmentOptions {
  readonly email: string;
}

/** The same with all of each list. */
type PersonalData = {
  readonly [Name in keyof PersonExport]: PersonExport[Name] extends AsyncIterable<readonly (infer Row)[]>
    ? readonly Row[]
    : PersonExport[Name];
};

export function addSubscriberCommands(program: Command, cli: CliContext): void {
  withSubscriberOptions(program.command('subscriber:export'))
    .description('print all stored data about a person as JSON')
    .option('--json', 'print it on one line')
    .action(
      printing(
        cli,
        (options: SubscriberOptions) => collect(cli, options),
        (data) => JSON.stringify(data, null, 2),
      ),
    );
  withSubscriberOptions(program.command('subscriber:erase'))
    .description('erase a person for good; a keyed hash keeps a suppressed address suppressed')
    .option('--yes', 'confirm: erasing cannot be undone')
    .action(
      printing(
        cli,
        (options: SubscriberOptions & { readonly yes?: true }) => erase(cli, options),
        () =>
          'Erased. The worker removes the person from deliveries, automations and webhook events, within seconds.',
      ),
    );
}

function withSubscriberOptions(command: Command): Command {
  return withEnvironmentOptions(command).requiredOption('--email <email>', 'the address of the person');
}

async function collect(cli: CliContext, options: SubscriberOptions): Promise<PersonalData> {
  const address = addressOf(options);
  const { PersonalDataModule, PersonExportService } = await import('#messaging');
  return inEnvironment(
    cli,
    options,
    async (scope, get) => {
      const data = await gathered(await get(PersonExportService).of(scope, address));
      if (isNothing(data))
        throw new OperatorError('unknown-subscriber', 'No data is stored about this address.');
      return data;
    },
    [PersonalDataModule],
  );
}

async function gathered(data: PersonExport): Promise<PersonalData> {
  const { rowsOf } = await import('#platform');
  const all: Record<string, unknown> = {};
  for (const [name, content] of Object.entries<unknown>({ ...data }))
    all[name] = isPaged(content) ? await rowsOf(content) : content;
  return all as unknown as PersonalData;
}

function isPaged(content: unknown): content is AsyncIterable<readonly unknown[]> {
  return typeof content === 'object' && content !== null && Symbol.asyncIterator in content;
}

function isNothing({ subscriber, suppression, ...rows }: PersonalData): boolean {
  return (
    subscriber === null && !suppression.suppressed && Object.values(rows).every((list) => list.length === 0)
  );
}

async function erase(cli: CliContext, options: SubscriberOptions & { readonly yes?: true }) {
  const address = addressOf(options);
  if (options.yes !== true) throw new UsageError('Erasing cannot be undone. Confirm with --yes.');
  const { AudienceModule, consentProof, PersonalDataService } = await import('#audience');
  const by = consentProof('OPERATOR', null, { source: 'erasure' });
  await inEnvironment(cli, options, (scope, get) => get(PersonalDataService).erase(scope, address, by), [
    AudienceModule,
  ]).catch(whenNotFound('unknown-subscriber', 'There is no subscriber with this address.'));
  return { erased: true };
}

function addressOf({ email }: SubscriberOptions): EmailAddress {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new UsageError(`--email ${parsed.fault}`);
  return parsed.address;
}
