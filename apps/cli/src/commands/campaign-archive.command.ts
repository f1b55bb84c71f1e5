import type { Command } from 'commander';
import { NotFoundError } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { type EnvironmentOptions, scopeOf, withEnvironmentOptions } from '../environment-options.js';
import { OperatorError } from '../failures.js';

interface Options extends EnvironmentOptions {
  readonly campaign: string;
  readonly json?: true;
}

export function addCampaignArchive(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('campaign:archive'))
    .description('archive a sent, cancelled or failed campaign; it becomes read-only')
    .requiredOption('--campaign <key>', 'the campaign’s key, e.g. APIT-001')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      await archive(cli, options);
      const { campaign: campaignKey, json } = options;
      printResult(cli, json, { campaignKey, status: 'ARCHIVED' }, () => `${campaignKey} is archived.`);
    });
}

async function archive(cli: CliContext, options: Options): Promise<void> {
  const [{ withServices }, { CampaignLifecycleService, MessagingModule }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  const { campaign } = options;
  await withServices(
    cli.env,
    async ({ get, projectList }) =>
      get(CampaignLifecycleService).archive(await scopeOf(options, projectList), campaign),
    [MessagingModule],
  ).catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    throw new OperatorError('unknown-campaign', `This environment has no campaign ${campaign}.`);
  });
}
