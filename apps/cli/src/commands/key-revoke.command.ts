import type { Command } from 'commander';
import { NotFoundError } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError, UsageError } from '../failures.js';

export function addKeyRevoke(program: Command, cli: CliContext): void {
  program
    .command('key:revoke')
    .description('revoke an API key for good; it is refused within five seconds')
    .argument('[id]', 'the same as --id')
    .option('--id <id>', 'the id that key:list shows')
    .option('--json', 'print one line of JSON')
    .action(async (argument: string | undefined, options: { readonly id?: string; readonly json?: true }) => {
      const { id = argument, json } = options;
      if (id === undefined) throw new UsageError("required option '--id <id>' not specified");
      const { withServices } = await import('../operator-services.js');
      const revokedAt = await withServices(cli.env, ({ apiKeys }) => apiKeys.revoke(id)).catch(
        sayUnknown(id),
      );
      printResult(cli, json, { id, revokedAt }, () => `Revoked ${id}.`);
    });
}

function sayUnknown(id: string): (error: unknown) => never {
  return (error) => {
    if (!(error instanceof NotFoundError)) throw error;
    throw new OperatorError('unknown-key', `There is no key ${id}. \`mailwright key:list\` shows the ids.`);
  };
}
