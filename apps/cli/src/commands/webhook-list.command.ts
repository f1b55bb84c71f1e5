import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { table } from '../table.js';
import { withWebhooks } from './webhook-services.js';

const HEADINGS = ['ID', 'STATUS', 'EVENTS', 'URL', 'DESCRIPTION'];

export function addWebhookList(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:list'))
    .description('list the webhook endpoints of a project')
    .option('--json', 'print one line of JSON')
    .action(async ({ json, ...options }: EnvironmentOptions & { readonly json?: true }) => {
      const found = await withWebhooks(cli, options, ({ scope, endpoints }) => endpoints.list(scope));
      const rows = found.map(({ id, status, disabledReason, eventTypes, url, description }) => [
        id,
        disabledReason === null ? status.toLowerCase() : `${status.toLowerCase()}: ${disabledReason}`,
        eventTypes.length === 0 ? 'all' : eventTypes.join(','),
        url,
        description ?? '',
      ]);
      printResult(cli, json, found, () =>
        rows.length === 0 ? 'There are no endpoints.' : table(HEADINGS, rows),
      );
    });
}
