import type { Command } from 'commander';
import type { AudiencePersonalData } from '#audience';
import type { MailPersonalData } from '#messaging';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { scopeOf } from '../environment-options.js';
import { addressOf, type SubscriberOptions, withSubscriberOptions } from '../subscriber-options.js';

type PersonalData = AudiencePersonalData & MailPersonalData & { readonly webhookEvents: readonly unknown[] };

export function addSubscriberExport(program: Command, cli: CliContext): void {
  withSubscriberOptions(program.command('subscriber:export'))
    .description('print all stored data about a person as JSON')
    .option('--json', 'print it on one line')
    .action(async (options: SubscriberOptions & { readonly json?: true }) => {
      const data = await collect(cli, options);
      printResult(cli, options.json, data, () => JSON.stringify(data, null, 2));
    });
}

async function collect(cli: CliContext, options: SubscriberOptions): Promise<PersonalData> {
  const address = addressOf(options);
  const [
    { withServices },
    { AudienceModule, PersonalDataQuery },
    { MailPersonalDataModule, MailPersonalDataQuery },
    { WebhookLogService, WebhooksModule },
  ] = await Promise.all([
    import('../operator-services.js'),
    import('#audience'),
    import('#messaging'),
    import('#webhooks'),
  ]);
  return withServices(
    cli.env,
    async ({ get, projectList }) => {
      const scope = await scopeOf(options, projectList);
      const audience = await get(PersonalDataQuery).of(scope, address);
      const subscriberId = audience.subscriber === null ? null : String(audience.subscriber['id']);
      const mail = await get(MailPersonalDataQuery).of(scope, { address, subscriberId });
      const webhookEvents =
        subscriberId === null ? [] : await get(WebhookLogService).eventsAbout(scope, subscriberId);
      const data = { ...audience, ...mail, webhookEvents };
      if (isNothing(data))
        throw new OperatorError('unknown-subscriber', 'No data is stored about this address.');
      return data;
    },
    [AudienceModule, MailPersonalDataModule, WebhooksModule],
  );
}

function isNothing({ subscriber, suppression, ...rows }: PersonalData): boolean {
  return (
    subscriber === null && !suppression.suppressed && Object.values(rows).every((list) => list.length === 0)
  );
}
