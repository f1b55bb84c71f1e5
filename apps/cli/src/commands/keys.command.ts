import type { Command } from 'commander';
import type { ApiKeySummary, OperatorKeyView } from '#access';
import { API_SCOPES, OPERATOR_SCOPES } from '#kernel';
import type { AccountsService } from '#operator';
import { type EnvironmentOptions, integer, withEnvironmentOptions, withServices } from '../command.js';
import { namingOptions, UsageError, whenNotFound } from '../failures.js';
import { findProject, namesIn, projectName } from '../names.js';
import { type CliContext, day, facts, type JsonOption, printing, printResult, table } from '../output.js';

interface NewKey extends EnvironmentOptions {
  readonly name: string;
  readonly scopes: string;
  readonly expiresInDays?: number;
  readonly rateLimit?: number;
  readonly networks?: string;
}

type NewOperatorKey = Pick<NewKey, 'name' | 'scopes' | 'expiresInDays' | 'networks'>;

interface OneKey extends JsonOption {
  readonly id?: string;
  readonly overlapHours?: number;
}

const DAY_MS = 86_400_000;
const OPTIONS = {
  name: '--name',
  scopes: '--scopes',
  expiresAt: '--expires-in-days',
  rateLimitPerMinute: '--rate-limit',
  allowedNetworks: '--networks',
  overlapHours: '--overlap-hours',
};
const KEEP_IT = 'Keep the key now: it is stored nowhere and cannot be shown again.';
const HEADINGS = [
  'ID',
  'PROJECT',
  'ENV',
  'NAME',
  'KEY',
  'STATUS',
  'LIMIT',
  'SCOPES',
  'CREATED',
  'EXPIRES',
  'USED',
];
const OPERATOR_HEADINGS = ['ID', 'NAME', 'KEY', 'STATUS', 'SCOPES', 'NETWORKS', 'CREATED', 'EXPIRES', 'USED'];

export function addKeyCommands(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('key:create'))
    .description('create an API key and show it once')
    .requiredOption('--name <name>', 'the user or program of the key')
    .requiredOption('--scopes <scopes>', 'what it may do: scopes separated by commas, or all')
    .option('--expires-in-days <days>', 'the days until it expires; default: never', integer(1))
    .option('--rate-limit <requests>', 'requests a minute; default: the installation’s', integer(1))
    .option('--networks <networks>', 'where it may be used from: CIDR separated by commas; default: anywhere')
    .action(
      printing(
        cli,
        (options: NewKey) => create(cli, options),
        ({ key, id, project, environment, expiresAt }) => {
          const expires = expiresAt?.toISOString() ?? 'never';
          const shown = facts({ key, id, project, environment, expires });
          return `${shown}\n\n${KEEP_IT}`;
        },
      ),
    );
  program
    .command('key:list')
    .description('list API keys, newest first')
    .option('--project <project>', 'only keys of this project, e.g. ACME/APIT')
    .action(
      printing(
        cli,
        ({ project }: { readonly project?: string }) =>
          withServices(cli, async ({ apiKeys, projectList }) =>
            project === undefined
              ? apiKeys.list()
              : apiKeys.list((await findProject(projectList, project)).id),
          ),
        (keys) => table(HEADINGS, keys.map(row), 'There are no keys.'),
      ),
    );
  program
    .command('key:revoke')
    .description('revoke an API key for good; it is refused within five seconds')
    .argument('[id]', 'the same as --id')
    .option('--id <id>', 'the id that key:list shows')
    .action(async (argument: string | undefined, options: OneKey) => {
      const [id, revokedAt] = await ofKey(cli, options.id ?? argument, (accounts, key) =>
        accounts.revokeApiKey(key),
      );
      printResult(cli, options, { id, revokedAt }, () => `Revoked ${id}.`);
    });
  program
    .command('key:rotate')
    .description('create a successor of an API key with the same grants, and show it once')
    .argument('[id]', 'the same as --id')
    .option('--id <id>', 'the id that key:list shows')
    .option(
      '--overlap-hours <hours>',
      'the hours for which the key before works on, up to 168',
      integer(0),
      24,
    )
    .action(async (argument: string | undefined, { overlapHours = 24, ...options }: OneKey) => {
      const [replaces, { id, key, expiresAt }] = await namingOptions(OPTIONS, () =>
        ofKey(cli, options.id ?? argument, (accounts, old) => accounts.rotateApiKey(old, overlapHours)),
      );
      const made = { id, key, replaces, overlapHours, expiresAt };
      printResult(cli, options, made, () => {
        const shown = facts({
          key,
          id,
          replaces,
          overlapHours: String(overlapHours),
          expires: expiresAt?.toISOString() ?? 'never',
        });
        return `${shown}\n\n${KEEP_IT}`;
      });
    });
}

/** Keys of the operator's API. */
export function addOperatorKeyCommands(program: Command, cli: CliContext): void {
  program
    .command('operator-key:create')
    .description('create a key for the operator’s API and page, and show it once')
    .requiredOption('--name <name>', 'the person or program of the key')
    .requiredOption('--scopes <scopes>', 'what it may do: scopes separated by commas, or all')
    .option('--expires-in-days <days>', 'the days until it expires; default: never', integer(1))
    .option('--networks <networks>', 'where it may be used from: CIDR separated by commas; default: anywhere')
    .action(
      printing(
        cli,
        (options: NewOperatorKey) => createOperatorKey(cli, options),
        ({ key, id, expiresAt }) =>
          `${facts({ key, id, expires: expiresAt?.toISOString() ?? 'never' })}\n\n${KEEP_IT}`,
      ),
    );
  program
    .command('operator-key:list')
    .description('list the keys of the operator’s API, newest first')
    .action(
      printing(
        cli,
        () => withServices(cli, ({ operatorKeys }) => operatorKeys.list()),
        (keys) => table(OPERATOR_HEADINGS, keys.map(operatorRow), 'There are no operator keys.'),
      ),
    );
  program
    .command('operator-key:revoke')
    .description('revoke a key of the operator’s API for good; it is refused within five seconds')
    .requiredOption('--id <id>', 'the id that operator-key:list shows')
    .action(
      printing(
        cli,
        async ({ id }: { readonly id: string }) => {
          const unknown = `There is no operator key ${id}. \`mailwright operator-key:list\` shows the ids.`;
          const revokedAt = await withServices(cli, ({ operatorKeys }) => operatorKeys.revoke(id)).catch(
            whenNotFound('unknown-key', unknown),
          );
          return { id, revokedAt };
        },
        ({ id }) => `Revoked ${id}.`,
      ),
    );
}

function createOperatorKey(cli: CliContext, { name, networks, ...options }: NewOperatorKey) {
  const words = { option: '--scopes', one: 'a scope', many: 'scopes' };
  const scopes = namesIn(options.scopes, OPERATOR_SCOPES, words) ?? OPERATOR_SCOPES;
  return withServices(cli, ({ operatorKeys, clock }) => {
    const terms = { expiresAt: expiryOf(options, clock.now()), allowedNetworks: networks?.split(',') ?? [] };
    return namingOptions(OPTIONS, () => operatorKeys.create({ name, scopes, ...terms }));
  });
}

function operatorRow(key: OperatorKeyView): string[] {
  return [
    key.id,
    key.name,
    `mw_op_…${key.lastFour}`,
    key.status.toLowerCase(),
    key.scopes.length === OPERATOR_SCOPES.length ? 'all' : key.scopes.join(','),
    key.allowedNetworks.join(',') || 'anywhere',
    day(key.createdAt),
    day(key.expiresAt, 'never'),
    day(key.lastUsedAt, 'never'),
  ];
}

/** Runs `work` on a key of any project. */
async function ofKey<T>(
  cli: CliContext,
  id: string | undefined,
  work: (accounts: AccountsService, id: string) => Promise<T>,
): Promise<[id: string, T]> {
  if (id === undefined) throw new UsageError("required option '--id <id>' not specified");
  const unknown = `There is no key ${id}. \`mailwright key:list\` shows the ids.`;
  const done = await withServices(cli, ({ accounts }) => work(accounts, id)).catch(
    whenNotFound('unknown-key', unknown),
  );
  return [id, done];
}

function create(cli: CliContext, options: NewKey) {
  const words = { option: '--scopes', one: 'a scope', many: 'scopes' };
  const scopes = namesIn(options.scopes, API_SCOPES, words) ?? API_SCOPES;
  return withServices(cli, async ({ accounts, clock, projectList }) => {
    const project = await findProject(projectList, options.project);
    const scope = project[options.env];
    const expiresAt = expiryOf(options, clock.now());
    const wanted = {
      name: options.name,
      scopes,
      expiresAt,
      rateLimitPerMinute: options.rateLimit ?? null,
      allowedNetworks: options.networks?.split(',') ?? [],
    };
    const made = await namingOptions(OPTIONS, () => accounts.createApiKey(scope, wanted));
    return { ...made, project: projectName(project), environment: scope.environment };
  });
}

function expiryOf({ expiresInDays }: Pick<NewKey, 'expiresInDays'>, now: Date): Date | null {
  if (expiresInDays === undefined) return null;
  return new Date(now.getTime() + expiresInDays * DAY_MS);
}

function row(key: ApiKeySummary): string[] {
  return [
    key.id,
    projectName(key),
    key.environment.toLowerCase(),
    key.name,
    `${key.prefix}…${key.lastFour}`,
    key.status.toLowerCase(),
    key.rateLimitPerMinute === null ? 'default' : String(key.rateLimitPerMinute),
    key.scopes.length === API_SCOPES.length ? 'all' : key.scopes.join(','),
    day(key.createdAt),
    day(key.expiresAt, 'never'),
    day(key.lastUsedAt, 'never'),
  ];
}
