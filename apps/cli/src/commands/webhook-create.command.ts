import type { Command } from 'commander';
import { PUBLISHED_EVENT_TYPES, type PublishedEventType } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions, UsageError } from '../failures.js';
import { nearest } from '../nearest.js';
import { type EnvironmentOptions, withEnvironmentOptions } from '../environment-options.js';
import { facts } from '../table.js';
import { withWebhooks } from './webhook-services.js';

interface Options extends EnvironmentOptions {
  readonly url: string;
  readonly events: string;
  readonly description?: string;
  readonly json?: true;
}

export function addWebhookCreate(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('webhook:create'))
    .description('create a webhook endpoint for a project and show its signing secret once')
    .requiredOption('--url <url>', 'where to post')
    .option('--events <events>', 'which events, with commas between them, or all', 'all')
    .option('--description <text>', 'what it is for')
    .option('--json', 'print one line of JSON')
    .action(async ({ url, description, events, json, ...options }: Options) => {
      const eventTypes = eventTypesOf(events);
      const made = await withWebhooks(cli, options, ({ scope, endpoints }) =>
        namingOptions({ url: '--url' }, () =>
          endpoints.create(scope, { url, description: description ?? null, eventTypes }),
        ),
      );
      printResult(cli, json, { ...made, url, eventTypes }, () => {
        const shown = { id: made.id, url, events: events.trim(), secret: made.secret };
        return `${facts(shown)}\n\nKeep the secret now: it cannot be shown again.`;
      });
    });
}

/** `all` (an empty list), or names of events separated by commas. */
export function eventTypesOf(text: string): readonly PublishedEventType[] {
  if (text.trim() === 'all') return [];
  const names = text.split(',').map((name) => name.trim());
  return names.filter((name) => name !== '').map(knownType);
}

function knownType(name: string): PublishedEventType {
  const type = PUBLISHED_EVENT_TYPES.find((candidate) => candidate === name);
  if (type !== undefined) return type;
  const near = nearest(name, PUBLISHED_EVENT_TYPES);
  const hint = near === null ? '' : ` Did you mean ${near}?`;
  throw new UsageError(
    `--events: ${name} is not an event.${hint} The events are all, or some of:\n  ${PUBLISHED_EVENT_TYPES.join('\n  ')}`,
  );
}
