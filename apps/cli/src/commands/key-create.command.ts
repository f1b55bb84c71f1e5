import { type Command, InvalidArgumentError, Option } from 'commander';
import { API_SCOPES, type ApiScope } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions, UsageError } from '../failures.js';
import { findProject, projectName } from '../find-project.js';
import { nearest } from '../nearest.js';
import { facts } from '../table.js';

interface Options {
  readonly project: string;
  readonly env: 'live' | 'test';
  readonly name: string;
  readonly scopes: string;
  readonly expiresInDays?: number;
  readonly rateLimit?: number;
  readonly json?: true;
}

const DAY_MS = 86_400_000;
const MAX_DAYS = 36_500;
const OPTIONS = {
  name: '--name',
  scopes: '--scopes',
  expiresAt: '--expires-in-days',
  rateLimitPerMinute: '--rate-limit',
};

export function addKeyCreate(program: Command, cli: CliContext): void {
  program
    .command('key:create')
    .description('create an API key and show it once')
    .requiredOption('--project <project>', 'e.g. ACME/APIT, or APIT where only one tenant has it')
    .addOption(new Option('--env <env>', 'the environment').choices(['live', 'test']).makeOptionMandatory())
    .requiredOption('--name <name>', 'the user or program of the key')
    .requiredOption('--scopes <scopes>', 'what it may do: scopes separated by commas, or all')
    .option('--expires-in-days <days>', 'the days until it expires; default: never', wholeNumber)
    .option('--rate-limit <requests>', 'requests a minute; default: the installation’s', wholeNumber)
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const scopes = scopesOf(options.scopes);
      const { withServices } = await import('../operator-services.js');
      const result = await withServices(cli.env, async ({ apiKeys, clock, projectList }) => {
        const project = findProject(await projectList.list(), options.project);
        const expiresAt = expiryOf(options, clock.now());
        const rateLimitPerMinute = options.rateLimit ?? null;
        const wanted = { name: options.name, scopes, expiresAt, rateLimitPerMinute };
        const { id, key } = await namingOptions(OPTIONS, () => apiKeys.create(project[options.env], wanted));
        const environment = project[options.env].environment;
        return { id, key, project: projectName(project), environment, ...wanted };
      });
      printResult(cli, options.json, result, () => keyText(result));
    });
}

function keyText(result: {
  readonly id: string;
  readonly key: string;
  readonly project: string;
  readonly environment: string;
  readonly expiresAt: Date | null;
}): string {
  const { id, key, project, environment, expiresAt } = result;
  const shown = {
    key,
    id,
    project,
    environment,
    expires: expiresAt === null ? 'never' : expiresAt.toISOString(),
  };
  return `${facts(shown)}\n\nKeep the key now: it is stored nowhere and cannot be shown again.`;
}

/** `all`, or names of scopes separated by commas. */
function scopesOf(text: string): readonly ApiScope[] {
  if (text.trim() === 'all') return API_SCOPES;
  const names = text.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '').map(knownScope);
}

function knownScope(name: string): ApiScope {
  const scope = API_SCOPES.find((candidate) => candidate === name);
  if (scope !== undefined) return scope;
  const near = nearest(name, API_SCOPES);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  throw new UsageError(
    `--scopes: ${name} is not a scope.${hint} The scopes are all, or some of:\n  ${API_SCOPES.join('\n  ')}`,
  );
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text)) throw new InvalidArgumentError('It must be a positive integer.');
  return Number(text);
}

function expiryOf({ expiresInDays }: Options, now: Date): Date | null {
  if (expiresInDays === undefined) return null;
  if (expiresInDays > MAX_DAYS) throw new UsageError(`--expires-in-days must be at most ${MAX_DAYS}`);
  return new Date(now.getTime() + expiresInDays * DAY_MS);
}
