import { type Command, InvalidArgumentError } from 'commander';
import type { WebhookLogRow } from '#webhooks';
import { type CliContext, printResult } from '../cli-context.js';
import { UsageError } from '../failures.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { table } from '../table.js';
import { withWebhooks } from './webhook-services.js';

interface Options extends EnvironmentOptions {
  readonly id: string;
  readonly limit: number;
  readonly json?: true;
}

interface ReplayOptions extends EnvironmentOptions {
  readonly delivery?: string;
  readonly id?: string;
  readonly since?: Date;
  readonly all?: true;
  readonly json?: true;
}

const HEADINGS = ['DELIVERY', 'CREATED', 'EVENT', 'STATE', 'TRIES', 'LAST ANSWER', 'NEXT TRY'];

export function addWebhookLog(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:log'))
    .description('list the deliveries to a webhook endpoint, newest first')
    .requiredOption('--id <id>', 'which endpoint')
    .option('--limit <rows>', 'how many', wholeNumber, 50)
    .option('--json', 'print one line of JSON')
    .action(async ({ id, limit, json, ...options }: Options) => {
      const rows = await withWebhooks(cli, options, ({ scope, log }) => log.newest(scope, id, limit));
      printResult(cli, json, rows, () =>
        rows.length === 0 ? 'It was told nothing yet.' : table(HEADINGS, rows.map(cells)),
      );
    });
}

export function addWebhookReplay(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:replay'))
    .description('replay one delivery, or the failed deliveries of an endpoint since a time')
    .option('--delivery <id>', 'the delivery to replay')
    .option('--id <id>', 'the endpoint; with --since')
    .option('--since <time>', 'ISO 8601, e.g. 2026-03-01T00:00:00Z', moment)
    .option('--all', 'also successful deliveries')
    .option('--json', 'print one line of JSON')
    .action(async ({ delivery, id, since, all, json, ...options }: ReplayOptions) => {
      const which = replayOf({ delivery, id, since, all });
      const replayed = await withWebhooks(cli, options, ({ scope, log }) => log.replay(scope, which));
      printResult(cli, json, { replayed }, () => `${replayed} will be told again.`);
    });
}

function replayOf({
  delivery,
  id,
  since,
  all,
}: Partial<Pick<ReplayOptions, 'delivery' | 'id' | 'since' | 'all'>>) {
  if (delivery !== undefined && id === undefined) return { deliveryId: delivery };
  if (delivery === undefined && id !== undefined && since !== undefined)
    return { endpointId: id, since, state: all === true ? ('ALL' as const) : ('FAILED' as const) };
  throw new UsageError('Name --delivery, or --id and --since.');
}

function cells(row: WebhookLogRow): string[] {
  const answer = row.lastError ?? (row.lastStatus === null ? '' : `HTTP ${row.lastStatus}`);
  return [
    row.id,
    row.createdAt.toISOString(),
    row.type,
    row.state.toLowerCase(),
    String(row.attempts),
    answer,
    row.nextAttemptAt?.toISOString() ?? '',
  ];
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,3}$/.test(text)) throw new InvalidArgumentError('It must be an integer from 1 to 9999.');
  return Number(text);
}

function moment(text: string): Date {
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw new InvalidArgumentError('It must be a time like 2026-03-01T00:00:00Z.');
  return at;
}
