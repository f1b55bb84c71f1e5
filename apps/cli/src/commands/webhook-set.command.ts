import { type Command, Option } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions } from '../failures.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { eventTypesOf } from './webhook-create.command.js';
import { withWebhooks } from './webhook-services.js';

interface Options extends EnvironmentOptions {
  readonly id: string;
  readonly url?: string;
  readonly events?: string;
  readonly description?: string;
  readonly status?: 'enabled' | 'disabled';
  readonly json?: true;
}

export function addWebhookSet(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:set'))
    .description('change, disable or enable a webhook endpoint')
    .requiredOption('--id <id>', 'which endpoint')
    .option('--url <url>', 'where to post')
    .option('--events <events>', 'which events, with commas between them, or all')
    .option('--description <text>', 'what it is for')
    .addOption(new Option('--status <status>', 'enable or disable it').choices(['enabled', 'disabled']))
    .option('--json', 'print one line of JSON')
    .action(async ({ id, url, events, description, status, json, ...options }: Options) => {
      const patch = {
        ...(url !== undefined && { url }),
        ...(events !== undefined && { eventTypes: eventTypesOf(events) }),
        ...(description !== undefined && { description }),
        ...(status !== undefined && {
          status: status === 'enabled' ? ('ENABLED' as const) : ('DISABLED' as const),
        }),
      };
      await withWebhooks(cli, options, ({ scope, endpoints }) =>
        namingOptions({ url: '--url' }, () => endpoints.change(scope, id, patch)),
      );
      printResult(cli, json, { id }, () => `Changed endpoint ${id}.`);
    });
}

export function addWebhookDelete(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:delete'))
    .description('remove a webhook endpoint with its log and pending deliveries')
    .requiredOption('--id <id>', 'which endpoint')
    .option('--json', 'print one line of JSON')
    .action(async ({ id, json, ...options }: Options) => {
      await withWebhooks(cli, options, ({ scope, endpoints }) => endpoints.remove(scope, id));
      printResult(cli, json, { id }, () => `Removed endpoint ${id}.`);
    });
}
