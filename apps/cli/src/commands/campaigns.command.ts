import type { Command } from 'commander';
import { type EnvironmentOptions, inEnvironment, integer, withEnvironmentOptions } from '../command.js';
import { namingOptions, whenNotFound } from '../failures.js';
import { type CliContext, printing } from '../output.js';

interface CampaignOptions extends EnvironmentOptions {
  readonly campaign: string;
}

export function addCampaignCommands(program: Command, cli: CliContext): void {
  withCampaignOptions(program.command('campaign:archive'))
    .description('archive a sent, cancelled or failed campaign; it becomes read-only')
    .action(
      printing(
        cli,
        (options: CampaignOptions) => archive(cli, options),
        ({ campaignKey }) => `${campaignKey} is archived.`,
      ),
    );
  withCampaignOptions(program.command('report:link'))
    .description('print a link to a campaign’s report; anybody who has it can see the report')
    .option('--days <days>', 'the days that it is valid: 30 unless given, at most 366', integer(1))
    .action(
      printing(
        cli,
        (options: CampaignOptions & { readonly days?: number }) => linkTo(cli, options),
        ({ url, expiresAt }) => `${url}\nGood until ${expiresAt.toISOString()}`,
      ),
    );
}

function withCampaignOptions(command: Command): Command {
  return withEnvironmentOptions(command).requiredOption(
    '--campaign <key>',
    'the campaign’s key, e.g. APIT-001',
  );
}

async function archive(cli: CliContext, options: CampaignOptions) {
  const { CampaignLifecycleService, MessagingModule } = await import('#messaging');
  const { campaign } = options;
  await inEnvironment(cli, options, (scope, get) => get(CampaignLifecycleService).archive(scope, campaign), [
    MessagingModule,
  ]).catch(whenUnknown(campaign));
  return { campaignKey: campaign, status: 'ARCHIVED' };
}

async function linkTo(cli: CliContext, options: CampaignOptions & { readonly days?: number }) {
  const { CampaignReportsService, MessagingModule } = await import('#messaging');
  const { campaign, days } = options;
  return inEnvironment(
    cli,
    options,
    (scope, get) =>
      namingOptions({ days: '--days' }, () => get(CampaignReportsService).link(scope, campaign, days)),
    [MessagingModule],
  ).catch(whenUnknown(campaign));
}

function whenUnknown(campaign: string) {
  return whenNotFound('unknown-campaign', `This environment has no campaign ${campaign}.`);
}
