import { type Command, InvalidArgumentError, Option } from 'commander';
import { type ProjectScope, PUBLISHED_EVENT_TYPES, type PublishedEventType } from '#kernel';
import type { WebhookEndpointsService, WebhookLogRow, WebhookLogService } from '#webhooks';
import { type EnvironmentOptions, inEnvironment, integer, withEnvironmentOptions } from '../command.js';
import { namingOptions, UsageError } from '../failures.js';
import { namesIn } from '../names.js';
import { type CliContext, facts, printing, table } from '../output.js';

interface WebhookServices {
  readonly scope: ProjectScope;
  readonly endpoints: WebhookEndpointsService;
  readonly log: WebhookLogService;
}

interface NewEndpoint extends EnvironmentOptions {
  readonly url: string;
  readonly events: string;
  readonly description?: string;
}

interface EndpointOptions extends EnvironmentOptions {
  readonly id: string;
}

interface EndpointChange extends EndpointOptions, Partial<Omit<NewEndpoint, keyof EnvironmentOptions>> {
  readonly status?: 'enabled' | 'disabled';
}

interface ReplayOptions extends EnvironmentOptions {
  readonly delivery?: string;
  readonly id?: string;
  readonly since?: Date;
  readonly all?: true;
}

const OPTIONS = { url: '--url' };
const ENDPOINTS = ['ID', 'STATUS', 'EVENTS', 'URL', 'DESCRIPTION'];
const DELIVERIES = ['DELIVERY', 'CREATED', 'EVENT', 'STATE', 'TRIES', 'LAST ANSWER', 'NEXT TRY'];
const KEEP_IT = 'Keep the secret now: it cannot be shown again.';

export function addWebhookCommands(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:create'))
    .description('create a webhook endpoint for a project and show its signing secret once')
    .requiredOption('--url <url>', 'where to post')
    .option('--events <events>', 'which events, with commas between them, or all', 'all')
    .option('--description <text>', 'what it is for')
    .action(
      printing(
        cli,
        (options: NewEndpoint) => create(cli, options),
        ({ id, url, secret }, { events }) =>
          `${facts({ id, url, events: events.trim(), secret })}\n\n${KEEP_IT}`,
      ),
    );
  withEnvironmentOptions(program.command('webhook:list'))
    .description('list the webhook endpoints of a project')
    .action(
      printing(
        cli,
        (options: EnvironmentOptions) =>
          withWebhooks(cli, options, ({ scope, endpoints }) => endpoints.list(scope)),
        (found) => {
          const rows = found.map(({ id, status, disabledReason, eventTypes, url, description }) => [
            id,
            disabledReason === null ? status.toLowerCase() : `${status.toLowerCase()}: ${disabledReason}`,
            eventTypes.length === 0 ? 'all' : eventTypes.join(','),
            url,
            description ?? '',
          ]);
          return table(ENDPOINTS, rows, 'There are no endpoints.');
        },
      ),
    );
  withEndpointOptions(program.command('webhook:set'))
    .description('change, disable or enable a webhook endpoint')
    .option('--url <url>', 'where to post')
    .option('--events <events>', 'which events, with commas between them, or all')
    .option('--description <text>', 'what it is for')
    .addOption(new Option('--status <status>', 'enable or disable it').choices(['enabled', 'disabled']))
    .action(
      printing(
        cli,
        (options: EndpointChange) => change(cli, options),
        ({ id }) => `Changed endpoint ${id}.`,
      ),
    );
  withEndpointOptions(program.command('webhook:rotate-secret'))
    .description('create a new signing secret for a webhook endpoint and show it once')
    .option('--overlap-hours <hours>', 'how long the previous secret signs as well', integer(0, 168), 24)
    .action(
      printing(
        cli,
        async ({ id, overlapHours, ...options }: EndpointOptions & { readonly overlapHours: number }) => {
          const secret = await withWebhooks(cli, options, ({ scope, endpoints }) =>
            endpoints.rotateSecret(scope, id, overlapHours),
          );
          return { id, secret, overlapHours };
        },
        ({ id, secret, overlapHours }) =>
          `${facts({ id, secret, 'old secret': `signs beside it for ${overlapHours} hours` })}\n\n${KEEP_IT}`,
      ),
    );
  withEndpointOptions(program.command('webhook:delete'))
    .description('remove a webhook endpoint with its log and pending deliveries')
    .action(
      printing(
        cli,
        async ({ id, ...options }: EndpointOptions) => {
          await withWebhooks(cli, options, ({ scope, endpoints }) => endpoints.remove(scope, id));
          return { id };
        },
        ({ id }) => `Removed endpoint ${id}.`,
      ),
    );
  withEndpointOptions(program.command('webhook:log'))
    .description('list the deliveries to a webhook endpoint, newest first')
    .option('--limit <rows>', 'how many', integer(1, 9_999), 50)
    .action(
      printing(
        cli,
        ({ id, limit, ...options }: EndpointOptions & { readonly limit: number }) =>
          withWebhooks(cli, options, ({ scope, log }) => log.newest(scope, id, limit)),
        (rows) => table(DELIVERIES, rows.map(cells), 'It was told nothing yet.'),
      ),
    );
  withEnvironmentOptions(program.command('webhook:replay'))
    .description('replay one delivery, or the failed deliveries of an endpoint since a time')
    .option('--delivery <id>', 'the delivery to replay')
    .option('--id <id>', 'the endpoint; with --since')
    .option('--since <time>', 'ISO 8601, e.g. 2026-03-01T00:00:00Z', moment)
    .option('--all', 'also successful deliveries')
    .action(
      printing(
        cli,
        async (options: ReplayOptions) => {
          const which = replayOf(options);
          return {
            replayed: await withWebhooks(cli, options, ({ scope, log }) => log.replay(scope, which)),
          };
        },
        ({ replayed }) => `${replayed} will be told again.`,
      ),
    );
}

function withEndpointOptions(command: Command): Command {
  return withEnvironmentOptions(command).requiredOption('--id <id>', 'which endpoint');
}

/** Runs `work` with the webhook services for the environment in the options. */
async function withWebhooks<T>(
  cli: CliContext,
  options: EnvironmentOptions,
  work: (services: WebhookServices) => Promise<T>,
): Promise<T> {
  const { WebhookEndpointsService, WebhookLogService, WebhooksModule } = await import('#webhooks');
  return inEnvironment(
    cli,
    options,
    (scope, get) => work({ scope, endpoints: get(WebhookEndpointsService), log: get(WebhookLogService) }),
    [WebhooksModule],
  );
}

async function create(cli: CliContext, { url, description, events, ...options }: NewEndpoint) {
  const eventTypes = eventTypesOf(events);
  const made = await withWebhooks(cli, options, ({ scope, endpoints }) =>
    namingOptions(OPTIONS, () =>
      endpoints.create(scope, { url, description: description ?? null, eventTypes }),
    ),
  );
  return { ...made, url, eventTypes };
}

async function change(cli: CliContext, options: EndpointChange) {
  const { id, url, events, description, status } = options;
  const patch = {
    ...(url !== undefined && { url }),
    ...(events !== undefined && { eventTypes: eventTypesOf(events) }),
    ...(description !== undefined && { description }),
    ...(status !== undefined && {
      status: status === 'enabled' ? ('ENABLED' as const) : ('DISABLED' as const),
    }),
  };
  await withWebhooks(cli, options, ({ scope, endpoints }) =>
    namingOptions(OPTIONS, () => endpoints.change(scope, id, patch)),
  );
  return { id };
}

/** An empty list stands for all events. */
function eventTypesOf(text: string): readonly PublishedEventType[] {
  const words = { option: '--events', one: 'an event', many: 'events' };
  return namesIn(text, PUBLISHED_EVENT_TYPES, words) ?? [];
}

function replayOf({ delivery, id, since, all }: ReplayOptions) {
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

function moment(text: string): Date {
  const at = new Date(text);
  if (Number.isNaN(at.getTime()))
    throw new InvalidArgumentError('It must be a time like 2026-03-01T00:00:00Z.');
  return at;
}
