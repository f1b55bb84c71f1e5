import { type Command, Option } from 'commander';
import type { ProjectChanges } from '#access';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions, UsageError } from '../failures.js';
import { findProject, projectName } from '../find-project.js';

interface Options {
  readonly project: string;
  readonly name?: string;
  readonly description?: string;
  readonly senderName?: string;
  readonly postalAddress?: string;
  readonly from?: string;
  readonly replyTo?: string;
  readonly locale?: string;
  readonly timeZone?: string;
  readonly logoUrl?: string;
  readonly color?: string;
  readonly privacyUrl?: string;
  readonly contact?: string;
  readonly aiSegmentSuggestions?: 'on' | 'off';
  readonly json?: true;
}

const OPTIONS = {
  name: '--name',
  description: '--description',
  senderName: '--sender-name',
  postalAddress: '--postal-address',
  defaultFromEmail: '--from',
  replyTo: '--reply-to',
  defaultLocale: '--locale',
  timeZone: '--time-zone',
  'brand.logoUrl': '--logo-url',
  'brand.color': '--color',
  privacyUrl: '--privacy-url',
  contactEmail: '--contact',
};

export function addProjectSet(program: Command, cli: CliContext): void {
  program
    .command('project:set')
    .description('change a project; options left out stay')
    .requiredOption('--project <project>', 'e.g. ACME/APIT')
    .option('--name <name>', 'the name of the product or brand')
    .option('--description <text>', 'what it is; empty for none')
    .option('--sender-name <name>', 'the name in From for campaigns without one')
    .option('--postal-address <address>', 'the postal address in the footer of every mail')
    .option('--from <email>', 'the address in From for campaigns without one; empty for none')
    .option('--reply-to <email>', 'where answers go, when a campaign does not say; empty for none')
    .option('--locale <tag>', 'the language of readers whose own is not known, e.g. de')
    .option('--time-zone <zone>', 'of subscribers whose own is not known, e.g. Europe/Berlin')
    .option('--logo-url <url>', 'the image above opt-in mails and pages; empty for none')
    .option('--color <color>', 'of buttons and links, e.g. #1a73e8; empty for ours')
    .option(
      '--privacy-url <url>',
      'your privacy policy, linked from opt-in mails, pages and footers; empty for none',
    )
    .option('--contact <email>', 'whom readers may write to about their data; empty for none')
    .addOption(
      new Option('--ai-segment-suggestions <switch>', 'the value that GET /project returns').choices([
        'on',
        'off',
      ]),
    )
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const changes = changesOf(options);
      if (Object.keys(changes).length === 0) throw new UsageError('Name at least one option to change.');
      const { withServices } = await import('../operator-services.js');
      const project = await withServices(cli.env, async ({ projects, projectList }) => {
        const found = findProject(await projectList.list(), options.project);
        await namingOptions(OPTIONS, () => projects.change(found.id, changes));
        return found;
      });
      const { id, tenantKey, projectKey } = project;
      printResult(
        cli,
        options.json,
        { id, tenantKey, projectKey, changed: changes },
        () => `Changed the project ${projectName(project)}.`,
      );
    });
}

function changesOf(options: Options): ProjectChanges {
  const { name, senderName, postalAddress, locale, timeZone, aiSegmentSuggestions } = options;
  const changes = {
    name,
    description: orNone(options.description),
    senderName,
    postalAddress,
    defaultFromEmail: orNone(options.from),
    replyTo: orNone(options.replyTo),
    defaultLocale: locale,
    timeZone,
    logoUrl: orNone(options.logoUrl),
    color: orNone(options.color),
    privacyUrl: orNone(options.privacyUrl),
    contactEmail: orNone(options.contact),
    aiSegmentSuggestionsEnabled:
      aiSegmentSuggestions === undefined ? undefined : aiSegmentSuggestions === 'on',
  };
  return Object.fromEntries(Object.entries(changes).filter(([, value]) => value !== undefined));
}

function orNone(text: string | undefined): string | null | undefined {
  return text === '' ? null : text;
}
