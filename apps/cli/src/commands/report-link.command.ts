import { type Command, InvalidArgumentError } from 'commander';
import { NotFoundError } from '#kernel';
import type { ReportLink } from '#messaging';
import { type CliContext, printResult } from '../cli-context.js';
import { type EnvironmentOptions, scopeOf, withEnvironmentOptions } from '../environment-options.js';
import { OperatorError } from '../failures.js';

interface Options extends EnvironmentOptions {
  readonly campaign: string;
  readonly days: number;
  readonly json?: true;
}

const GOOD_FOR_DAYS = 30;
const LONGEST_DAYS = 366;

export function addReportLink(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('report:link'))
    .description('print a link to a campaign’s report; anybody who has it can see the report')
    .requiredOption('--campaign <key>', 'the campaign’s key, e.g. APIT-001')
    .option('--days <days>', `the days that it is valid, at most ${LONGEST_DAYS}`, daysOf, GOOD_FOR_DAYS)
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const link = await linkTo(cli, options);
      printResult(cli, options.json, link, () => `${link.url}\nGood until ${link.expiresAt.toISOString()}`);
    });
}

async function linkTo(cli: CliContext, options: Options): Promise<ReportLink> {
  const [{ withServices }, { CampaignReportsService, MessagingModule }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  const { campaign, days } = options;
  return withServices(
    cli.env,
    async ({ get, projectList }) =>
      get(CampaignReportsService).link(await scopeOf(options, projectList), campaign, days),
    [MessagingModule],
  ).catch((error: unknown) => {
    if (!(error instanceof NotFoundError)) throw error;
    throw new OperatorError('unknown-campaign', `This environment has no campaign ${campaign}.`);
  });
}

function daysOf(text: string): number {
  const days = /^\d{1,4}$/.test(text) ? Number(text) : 0;
  if (days >= 1 && days <= LONGEST_DAYS) return days;
  throw new InvalidArgumentError(`It must be an integer from 1 to ${LONGEST_DAYS}.`);
}
