import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { withDomain } from '../domain-services.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';

interface Options extends EnvironmentOptions {
  readonly json?: true;
}

export function addDomainResume(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('domain:resume'))
    .description('resume a suspended sending domain; its status then follows from its DNS records')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const { status } = await withDomain(cli, options, async ({ control, domains, scope }) => {
        await control.resume(scope);
        return domains.ofScope(scope);
      });
      printResult(cli, options.json, { status }, () => `Resumed: it is ${status.toLowerCase()} now.`);
    });
}
