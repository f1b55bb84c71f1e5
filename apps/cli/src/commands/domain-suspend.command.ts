import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { withDomain } from '../domain-services.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { UsageError } from '../failures.js';

interface Options extends EnvironmentOptions {
  readonly reason: string;
  readonly json?: true;
}

export function addDomainSuspend(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('domain:suspend'))
    .description('stop the mail of a sending domain; its owner cannot change or remove it meanwhile')
    .requiredOption('--reason <text>', 'the reason, shown to the customer')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const reason = options.reason.trim();
      if (reason === '') throw new UsageError('--reason must not be empty');
      await withDomain(cli, options, ({ control, scope }) => control.suspend(scope, reason));
      printResult(cli, options.json, { status: 'SUSPENDED' }, () => 'Suspended. Its mail is no longer sent.');
    });
}
