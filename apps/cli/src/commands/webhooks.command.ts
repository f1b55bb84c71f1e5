import { type Command, InvalidArgumentError } from 'commander';
import type { ProjectScope } from '#kernel';
import type { EventPattern, WebhookDelivery, WebhookEndpointsService, WebhookLogService } from '#webhooks';
import {
  type EnvironmentOptions,
  inEnvironment,
  integer,
  oneOf,
  withEnvironmentOptions,
} from '../command.js';
import { namingOptions, UsageError, whenNotFound } from '../failures.js';
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
  readonly status?: string;
}

interface ReplayOptions extends EnvironmentOptions {
  readonly delivery?: string;
  readonly id?: string;
  readonly since?: Date;
  readonly all?: true;
}

const OPTIONS = { url: '--url', events: '--events' };
const ENDPOINTS_AT_ONCE = 1_000;
const ENDPOINTS = ['ID', 'STATUS', 'EVENTS', 'URL', 'DESCRIPTION'];
const DELIVERIES = ['DELIVERY', 'CREATED', 'EVENT', 'STATE', 'TRIES', 'LAST ANSWER', 'NEXT TRY'];
const KEEP_IT = 'Keep the secret now: it cannot be shown again.';

export function addWebhookCommands(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:create'))
    .description('create a webhook endpoint for a project and show its signing secret once')
    .requiredOption('--url <url>', 'where to post')
    .option('--events <events>', 'which events, with commas between them, such as email.*, or all', 'all')
    .option('--description <text>', 'what it is for')
    .action(
      printing(
        cli,
        (options: NewEndpoint) => create(cli, options),
        ({ id, url, events, secret }) =>
          `${facts({ id, url, events: events.join(','), secret })}\n\n${KEEP_IT}`,
      ),
    );
  withEnvironmentOptions(program.command('webhook:list'))
    .description('list the webhook endpoints of a project')
    .action(
      printing(
        cli,
        (options: EnvironmentOptions) =>
          withWebhooks(
            cli,
            options,
            async ({ scope, endpoints }) => (await endpoints.list(scope, { size: ENDPOINTS_AT_ONCE })).items,
          ),
        (found) => {
          const rows = found.map(({ id, status, disabledReason, events, url, description }) => [
            id,
            disabledReason === null ? status.toLowerCase() : `${status.toLowerCase()}: ${disabledReason}`,
            events.join(','),
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
    .option('--events <events>', 'which events, with commas between them, such as email.*, or all')
    .option('--description <text>', 'what it is for')
    .option('--status <status>', 'enabled or disabled')
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
        async (options: EndpointOptions & { readonly overlapHours: number }) => {
          const { id, overlapHours } = options;
          const { secret } = await withEndpoint(cli, options, ({ scope, endpoints }) =>
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
        async (options: EndpointOptions) => {
          const { id } = options;
          await withEndpoint(cli, options, ({ scope, endpoints }) => endpoints.remove(scope, id));
          return { id };
        },
        ({ id }) => `Removed endpoint ${id}.`,
      ),
    );
  withEndpointOptions(program.command('webhook:test'))
    .description('post a signed test to a webhook endpoint and show its answer')
    .action(
      printing(
        cli,
        (options: EndpointOptions) =>
          withEndpoint(cli, options, ({ scope, endpoints }) => endpoints.test(scope, options.id)),
        ({ status, error, durationMs, body }) =>
          `${error ?? `HTTP ${status}`} after ${durationMs} ms\n${body ?? ''}`.trim(),
      ),
    );
  withEndpointOptions(program.command('webhook:log'))
    .description('list the deliveries to a webhook endpoint, newest first')
    .option('--limit <rows>', 'how many', integer(1, 9_999), 50)
    .action(
      printing(
        cli,
        (options: EndpointOptions & { readonly limit: number }) =>
          withEndpoint(
            cli,
            options,
            async ({ scope, log }) =>
              (await log.deliveries(scope, options.id, { size: options.limit })).items,
          ),
        (rows) => table(DELIVERIES, rows.map(cells), 'It was told nothing yet.'),
      ),
    );
  withEnvironmentOptions(program.command('webhook:replay'))
    .description('replay one delivery, or the events that an endpoint did not take since a time')
    .option('--delivery <id>', 'the delivery to replay')
    .option('--id <id>', 'the endpoint; with --since')
    .option('--since <time>', 'ISO 8601, e.g. 2026-03-01T00:00:00Z', moment)
    .option('--all', 'also successful deliveries')
    .action(
      printing(
        cli,
        async (options: ReplayOptions) => ({ replayed: await replay(cli, options) }),
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

/** The same for the endpoint that `id` names. */
function withEndpoint<T>(
  cli: CliContext,
  { id, ...options }: EndpointOptions,
  work: (services: WebhookServices) => Promise<T>,
): Promise<T> {
  const unknown = `There is no endpoint ${id}. \`mailwright webhook:list\` shows the ids.`;
  return withWebhooks(cli, options, (services) =>
    work(services).catch(whenNotFound('unknown-endpoint', unknown)),
  );
}

async function create(cli: CliContext, { url, description, events, ...options }: NewEndpoint) {
  const patterns = await eventsIn(events);
  return withWebhooks(cli, options, ({ scope, endpoints }) =>
    namingOptions(OPTIONS, () =>
      endpoints.create(scope, { url, description: description ?? null, events: patterns }),
    ),
  );
}

async function change(cli: CliContext, options: EndpointChange) {
  const { ENDPOINT_STATUSES } = await import('#webhooks');
  const { id, url, events, description } = options;
  const patch = {
    url,
    description,
    status: oneOf(ENDPOINT_STATUSES, '--status', options.status),
    events: events === undefined ? undefined : await eventsIn(events),
  };
  await withEndpoint(cli, options, ({ scope, endpoints }) =>
    namingOptions(OPTIONS, () => endpoints.change(scope, id, patch)),
  );
  return { id };
}

async function eventsIn(text: string): Promise<readonly EventPattern[]> {
  const { EVENT_PATTERNS } = await import('#webhooks');
  const words = { option: '--events', one: 'an event', many: 'events' };
  return namesIn(text, EVENT_PATTERNS, words) ?? ['*'];
}

/** Number of deliveries that are made once more. */
async function replay(
  cli: CliContext,
  { delivery, id, since, all, ...options }: ReplayOptions,
): Promise<number> {
  if (delivery !== undefined && id === undefined)
    return withWebhooks(cli, options, async ({ scope, log }) => {
      const unknown = `There is no delivery ${delivery}. \`mailwright webhook:log\` shows the ids.`;
      await log.replayOne(scope, delivery).catch(whenNotFound('unknown-delivery', unknown));
      return 1;
    });
  if (delivery !== undefined || id === undefined || since === undefined)
    throw new UsageError('Name --delivery, or --id and --since.');
  return withEndpoint(cli, { ...options, id }, async ({ scope, log }) => {
    for (let count = 0; ;) {
      const { replayed, hasMore } = await log.replay(scope, id, {
        since,
        state: all === true ? 'ALL' : 'FAILED',
      });
      count += replayed;
      if (!hasMore) return count;
    }
  });
}

function cells(row: WebhookDelivery): string[] {
  const answer = row.lastError ?? (row.lastStatus === null ? '' : `HTTP ${row.lastStatus}`);
  return [
    row.id,
    row.createdAt.toISOString(),
    row.event,
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
