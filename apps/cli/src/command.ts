import { type Command, InvalidArgumentError, Option } from 'commander';
import { INSTALLATION, type ProjectScope } from '#kernel';
import { UsageError } from './failures.js';
import { findProject } from './names.js';
import type { ContextModule, OperatorServices } from './operator-services.js';
import type { CliContext } from './output.js';

/** The options for the project and environment of a command. */
export interface EnvironmentOptions {
  readonly project: string;
  readonly env: 'live' | 'test';
}

export function withProjectOption(command: Command): Command {
  return command.requiredOption(
    '--project <project>',
    'e.g. ACME/APIT, or APIT where only one tenant has it',
  );
}

export function withEnvironmentOptions(command: Command): Command {
  return withProjectOption(command).addOption(
    new Option('--env <env>', 'the environment').choices(['live', 'test']).makeOptionMandatory(),
  );
}

/**
 * Runs `work` with the operator's services, loaded only now: help and wrong command lines do without. The installation's audit log
 * tells of the command if it changes something.
 */
export async function withServices<T>(
  cli: CliContext,
  work: (services: OperatorServices) => Promise<T>,
  more: readonly ContextModule[] = [],
): Promise<T> {
  const [{ withOperatorServices }, { AuditTrail }] = await Promise.all([
    import('./operator-services.js'),
    import('#platform'),
  ]);
  const { command = '' } = cli;
  const [thing = ''] = command.split(':');
  const trail = new AuditTrail({
    environmentId: INSTALLATION.environmentId,
    actor: { type: 'OPERATOR', keyId: null, address: null },
    requestId: null,
    action: command,
    targetType: TARGETS[thing] ?? thing,
    targetId: null,
    items: null,
  });
  return withOperatorServices(cli.env, (services) => trail.run(() => work(services)), more);
}

/** Names in the API's audit log of the things that a command's name begins with. */
const TARGETS: Readonly<Record<string, string>> = {
  domain: 'sending-domain',
  key: 'api-key',
  webhook: 'webhook-endpoint',
};

/** Runs `work` for the environment in the options, whose audit log tells of it if it changes something. */
export function inEnvironment<T>(
  cli: CliContext,
  { project, env }: EnvironmentOptions,
  work: (scope: ProjectScope, get: OperatorServices['get']) => Promise<T>,
  more: readonly ContextModule[] = [],
): Promise<T> {
  return withServices(
    cli,
    async ({ get, projectList }) => {
      const { AuditTrail } = await import('#platform');
      const scope = (await findProject(projectList, project))[env];
      return AuditTrail.inEnvironment(scope.environmentId, () => work(scope, get));
    },
    more,
  );
}

/** The parser of an option that is an integer. */
export function integer(least: number, most?: number): (text: string) => number {
  return (text) => {
    const number = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (number >= least && number <= (most ?? number)) return number;
    throw new InvalidArgumentError(
      most === undefined
        ? 'It must be a positive integer.'
        : `It must be an integer from ${least} to ${most}.`,
    );
  };
}

/** The value that an option names in any case; undefined without the option. Throws a `UsageError`. */
export function oneOf<Value extends string>(
  values: readonly Value[],
  option: string,
  given: string | undefined,
): Value | undefined {
  if (given === undefined) return undefined;
  const value = values.find((candidate) => candidate === given.toUpperCase());
  if (value !== undefined) return value;
  throw new UsageError(`${option} must be one of ${values.join(', ').toLowerCase()}`);
}
