import { type Command, InvalidArgumentError } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { facts } from '../table.js';
import { withWebhooks } from './webhook-services.js';

interface Options extends EnvironmentOptions {
  readonly id: string;
  readonly overlapHours: number;
  readonly json?: true;
}

export function addWebhookRotateSecret(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:rotate-secret'))
    .description('create a new signing secret for a webhook endpoint and show it once')
    .requiredOption('--id <id>', 'which endpoint')
    .option('--overlap-hours <hours>', 'how long the previous secret signs as well', hours, 24)
    .option('--json', 'print one line of JSON')
    .action(async ({ id, overlapHours, json, ...options }: Options) => {
      const secret = await withWebhooks(cli, options, ({ scope, endpoints }) =>
        endpoints.rotateSecret(scope, id, overlapHours),
      );
      printResult(cli, json, { id, secret, overlapHours }, () => {
        const text = facts({ id, secret, 'old secret': `signs beside it for ${overlapHours} hours` });
        return `${text}\n\nKeep the secret now: it cannot be shown again.`;
      });
    });
}

function hours(text: string): number {
  if (!/^\d{1,3}$/.test(text) || Number(text) > 168)
    throw new InvalidArgumentError('It must be a number from 0 to 168.');
  return Number(text);
}
