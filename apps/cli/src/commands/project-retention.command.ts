import { type Command, InvalidArgumentError } from 'commander';
import type { KeptDays } from '#messaging';
import { type CliContext, printResult } from '../cli-context.js';
import { findProject, projectName } from '../find-project.js';

type Days = number | 'none';

interface Options {
  readonly project: string;
  readonly deliveries?: Days;
  readonly events?: Days;
  readonly json?: true;
}

export function addProjectRetention(program: Command, cli: CliContext): void {
  program
    .command('project:retention')
    .description('show or set how long a project’s mails and events are kept')
    .requiredOption('--project <project>', 'e.g. ACME/APIT, or APIT where only one tenant has it')
    .option(
      '--deliveries <days>',
      'let mails go after so many days; none: as the installation does',
      days(60),
    )
    .option('--events <days>', 'let opens, clicks and events go after so many days; none: the same', days(30))
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const { name, ...kept } = await change(cli, options);
      printResult(cli, options.json, kept, () => asText(name, kept));
    });
}

async function change(
  cli: CliContext,
  { project, deliveries, events }: Options,
): Promise<KeptDays & { readonly name: string }> {
  const [{ withServices }, { ProjectRetentionRepository }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  return withServices(cli.env, async ({ database, projectList }) => {
    const found = findProject(await projectList.list(), project);
    const retention = new ProjectRetentionRepository(database);
    const before = await retention.of(found.id);
    const kept = {
      deliveriesDays: changed(before.deliveriesDays, deliveries),
      eventsDays: changed(before.eventsDays, events),
    };
    if (deliveries !== undefined || events !== undefined) await retention.set(found.id, kept);
    return { ...kept, name: projectName(found) };
  });
}

function changed(before: number | null, to: Days | undefined): number | null {
  return to === 'none' ? null : (to ?? before);
}

const days = (least: number) => (value: string) => {
  if (value === 'none') return value;
  const number = Number(value);
  if (Number.isSafeInteger(number) && number >= least && number <= 36_500) return number;
  throw new InvalidArgumentError(`must be none, or a number of days from ${least} to 36500`);
};

function asText(name: string, { deliveriesDays, eventsDays }: KeptDays): string {
  const time = (kept: number | null) =>
    kept === null ? 'as long as the installation’s' : `for ${kept} days`;
  return `${name}: mails are kept ${time(deliveriesDays)}, events ${time(eventsDays)}.`;
}
