import type { Command } from 'commander';
import type { Distribution, Isolation, SealedSecrets } from '#platform';
import { type EnvironmentOptions, inEnvironment, withEnvironmentOptions, withServices } from '../command.js';
import { OperatorError } from '../failures.js';
import { type CliContext, printing } from '../output.js';

interface IsolateOptions extends EnvironmentOptions {
  readonly node?: string;
}

/** Secrets encrypted again in one transaction: an interrupted command continues where it stopped. */
const BATCH = 100;

export function addDatabaseCommands(program: Command, cli: CliContext): void {
  program
    .command('migrate')
    .description('migrate the database to the schema of this version')
    .action(
      printing(
        cli,
        () => migrateSchema(cli),
        ({ applied }) =>
          applied.length === 0
            ? 'The database is up to date.'
            : applied.map((name) => `Applied ${name}`).join('\n'),
      ),
    );
  program
    .command('distribute')
    .description('spread the tables of all projects over the nodes of a Citus cluster')
    .action(printing(cli, () => distributeTables(cli), distributionText));
  withEnvironmentOptions(program.command('isolate'))
    .description('give an environment a shard of its own in a Citus cluster, on a node of your choice')
    .option('--node <host:port>', 'the node to move it to; default: it stays where it is')
    .action(printing(cli, (options: IsolateOptions) => isolateEnvironment(cli, options), isolationText));
  program
    .command('master-key:rotate')
    .description(
      'encrypt every secret again with MASTER_KEY; MASTER_KEY_PREVIOUS decrypts it; can be repeated',
    )
    .action(printing(cli, () => rotateMasterKey(cli), rotationText));
}

async function migrateSchema(cli: CliContext) {
  const { migrate, refuseOtherDatabase } = await import('#platform');
  return asOwner(cli, async (ownerUrl, url) => {
    await refuseOtherDatabase(ownerUrl, url);
    const applied = await migrate(ownerUrl, url);
    // The login of DATABASE_URL is there now.
    await refuseOtherDatabase(ownerUrl, url);
    return { applied };
  });
}

async function distributeTables(cli: CliContext): Promise<Distribution> {
  const { distribute } = await import('#platform');
  return asOwner(cli, distribute);
}

async function isolateEnvironment(cli: CliContext, options: IsolateOptions): Promise<Isolation> {
  const { isolate } = await import('#platform');
  const environmentId = await inEnvironment(cli, options, (scope) => Promise.resolve(scope.environmentId));
  return asOwner(cli, (ownerUrl) => isolate(ownerUrl, environmentId, options.node));
}

/** Runs `work` with the URL of the schema's owner; a failure of the database names the setting that has it. */
async function asOwner<T>(cli: CliContext, work: (ownerUrl: string, url: string) => Promise<T>): Promise<T> {
  const [{ configuration }, { databaseFailure }] = await Promise.all([
    import('../operator-services.js'),
    import('#platform'),
  ]);
  const { DATABASE_URL, DATABASE_OWNER_URL } = configuration(cli.env);
  try {
    return await work(DATABASE_OWNER_URL ?? DATABASE_URL, DATABASE_URL);
  } catch (error) {
    const failure = DATABASE_OWNER_URL === undefined ? null : databaseFailure(error, 'DATABASE_OWNER_URL');
    throw failure === null ? error : new OperatorError(failure.code, failure.message);
  }
}

function distributionText({ distributed, unchanged, local }: Distribution): string {
  return [
    ...distributed.map((name) => `Distributed ${name}`),
    `${distributed.length + unchanged.length} tables are distributed by their environment, ` +
      `${local.length} stay on the coordinator.`,
  ].join('\n');
}

function isolationText({ node, wasAlone, isMoved }: Isolation, { project, env }: EnvironmentOptions): string {
  const alone = wasAlone ? 'had a shard of its own already' : 'has a shard of its own now';
  return `The ${env} environment of ${project} ${alone}, ${isMoved ? 'and is now' : 'which is'} on ${node}.`;
}

async function rotateMasterKey(cli: CliContext) {
  const [
    { DeliverabilityModule, DkimKeysService, RelaysService },
    { WebhookEndpointsService, WebhooksModule },
    { AutomationSecretsModule, AutomationSecretsService, MessageSealsModule, MessageSealsService },
  ] = await Promise.all([import('#deliverability'), import('#webhooks'), import('#messaging')]);
  const keepers = {
    'DKIM keys': DkimKeysService,
    'relay secrets': RelaysService,
    'webhook secrets': WebhookEndpointsService,
    'automation secrets': AutomationSecretsService,
    'contents of messages': MessageSealsService,
  };
  const encryptedAgain: Record<string, number> = {};
  await withServices(
    cli,
    async ({ get }) => {
      for (const [inWords, keeper] of Object.entries(keepers))
        encryptedAgain[inWords] = await resealAll(get<SealedSecrets>(keeper));
    },
    [DeliverabilityModule, WebhooksModule, AutomationSecretsModule, MessageSealsModule],
  );
  return { encryptedAgain };
}

async function resealAll(secrets: SealedSecrets): Promise<number> {
  let total = 0;
  for (;;) {
    const sealed = await secrets.resealSecrets(BATCH);
    if (sealed === 0) return total;
    total += sealed;
  }
}

function rotationText({ encryptedAgain }: { readonly encryptedAgain: Readonly<Record<string, number>> }) {
  const lines = Object.entries(encryptedAgain).map(
    ([inWords, count]) => `${inWords}: ${count} encrypted again.`,
  );
  return [...lines, 'MASTER_KEY encrypts every secret now: you can remove MASTER_KEY_PREVIOUS.'].join('\n');
}
