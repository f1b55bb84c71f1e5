import { type Command, InvalidArgumentError, Option } from 'commander';
import type { ProjectChanges, ProjectWithEnvironments } from '#access';
import type { KeptDays } from '#messaging';
import { withProjectOption, withServices } from '../command.js';
import { namingOptions, OperatorError, UsageError } from '../failures.js';
import { findProject, findTenant, projectName } from '../names.js';
import { type CliContext, type JsonOption, printing, printResult, table } from '../output.js';

interface ProjectOptions {
  readonly project: string;
}

interface NewProject {
  readonly tenant: string;
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly senderName: string;
  readonly postalAddress: string;
  readonly from?: string;
}

interface ChangeOptions extends ProjectOptions, Partial<Omit<NewProject, 'tenant' | 'key'>> {
  readonly replyTo?: string;
  readonly locale?: string;
  readonly timeZone?: string;
  readonly logoUrl?: string;
  readonly color?: string;
  readonly privacyUrl?: string;
  readonly contact?: string;
  readonly aiSegmentSuggestions?: 'on' | 'off';
}

type Days = number | 'none';

interface RetentionOptions extends ProjectOptions {
  readonly deliveries?: Days;
  readonly events?: Days;
}

const OPTIONS = {
  projectKey: '--key',
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
  deliveriesDays: '--deliveries',
  eventsDays: '--events',
};

export function addProjectCommands(program: Command, cli: CliContext): void {
  program
    .command('project:create')
    .description('create a project with its live and test environments')
    .requiredOption('--tenant <key>', 'the tenant that it belongs to')
    .requiredOption('--key <key>', '2 to 8 capital letters and digits, e.g. APIT')
    .requiredOption('--name <name>', 'the name of the product or brand')
    .option('--description <text>', 'what it is')
    .requiredOption('--sender-name <name>', 'the name in From for campaigns without one')
    .requiredOption('--postal-address <address>', 'the postal address in the footer of every mail')
    .option('--from <email>', 'the address in From for campaigns without one')
    .action(
      printing(
        cli,
        (options: NewProject) => create(cli, options),
        (project) => `Made the project ${projectName(project)}.`,
      ),
    );
  program
    .command('project:list')
    .description('list projects by tenant and key')
    .option('--tenant <key>', 'only projects of this tenant')
    .action(
      printing(
        cli,
        ({ tenant }: { readonly tenant?: string }) => list(cli, tenant),
        (projects) =>
          table(
            ['ID', 'PROJECT', 'NAME', 'LIVE ENVIRONMENT', 'TEST ENVIRONMENT'],
            projects.map((project) => [
              String(project.id),
              projectName(project),
              project.name,
              String(project.liveEnvironmentId),
              String(project.testEnvironmentId),
            ]),
            'There are no projects. Make one with `mailwright project:create`.',
          ),
      ),
    );
  withProjectOption(program.command('project:set'))
    .description('change a project; options left out stay')
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
    .action(
      printing(
        cli,
        (options: ChangeOptions) => change(cli, options),
        (project) => `Changed the project ${projectName(project)}.`,
      ),
    );
  withProjectOption(program.command('project:retention'))
    .description('show or set how long a project’s mails and events are kept')
    .option('--deliveries <days>', 'let mails go after so many days; none: as the installation does', days)
    .option('--events <days>', 'let opens, clicks and events go after so many days; none: the same', days)
    .action(async (options: RetentionOptions & JsonOption) => {
      const { name, kept } = await setRetention(cli, options);
      printResult(cli, options, kept, () => retentionText(name, kept));
    });
  withProjectOption(program.command('project:resume-sending'))
    .description('resume the sending of a project that was stopped for bounces or complaints')
    .action(
      printing(
        cli,
        ({ project }: ProjectOptions) => resumeSending(cli, project),
        (_, { project }) => `${project} may send again. Its campaigns are still paused: resume each of them.`,
      ),
    );
}

function create(cli: CliContext, options: NewProject) {
  const { key, name, description = null, senderName, postalAddress, from = null } = options;
  return withServices(cli, async ({ tenants, accounts }) => {
    const tenant = await findTenant(tenants, options.tenant);
    const details = { projectKey: key, name, senderName, postalAddress, description, defaultFromEmail: from };
    const project = await namingOptions(OPTIONS, () => accounts.createProject(tenant.id, details));
    const { id, projectKey } = project;
    return { id, tenantKey: options.tenant, projectKey, ...environmentIds(project) };
  });
}

function list(cli: CliContext, tenantKey: string | undefined) {
  return withServices(cli, async ({ tenants, projectList }) => {
    const tenant = tenantKey === undefined ? null : await findTenant(tenants, tenantKey);
    const projects = await projectList.list();
    return projects
      .filter(({ tenantId }) => tenant === null || tenantId === tenant.id)
      .map((project) => {
        const { id, projectKey, name } = project;
        return { id, tenantKey: project.tenantKey, projectKey, name, ...environmentIds(project) };
      });
  });
}

function environmentIds({ live, test }: Pick<ProjectWithEnvironments, 'live' | 'test'>) {
  return { liveEnvironmentId: live.environmentId, testEnvironmentId: test.environmentId };
}

function change(cli: CliContext, options: ChangeOptions) {
  const changed = changesOf(options);
  if (Object.keys(changed).length === 0) throw new UsageError('Name at least one option to change.');
  return withServices(cli, async ({ projects, projectList }) => {
    const { id, tenantKey, projectKey } = await findProject(projectList, options.project);
    await namingOptions(OPTIONS, () => projects.change(id, changed));
    return { id, tenantKey, projectKey, changed };
  });
}

function changesOf(options: ChangeOptions): ProjectChanges {
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

async function setRetention(cli: CliContext, { project, deliveries, events }: RetentionOptions) {
  const { ProjectRetentionRepository } = await import('#messaging');
  return withServices(cli, async ({ database, projectList }) => {
    const found = await findProject(projectList, project);
    const retention = new ProjectRetentionRepository(database);
    const changes = {
      ...(deliveries !== undefined && { deliveriesDays: daysOf(deliveries) }),
      ...(events !== undefined && { eventsDays: daysOf(events) }),
    };
    const kept =
      Object.keys(changes).length === 0
        ? await retention.of(found.id)
        : await namingOptions(OPTIONS, () => retention.set(found.id, changes));
    return { name: projectName(found), kept };
  });
}

const daysOf = (given: Days): number | null => (given === 'none' ? null : given);

function days(value: string): Days {
  if (value === 'none' || /^\d{1,9}$/.test(value)) return value === 'none' ? value : Number(value);
  throw new InvalidArgumentError('must be none, or a number of days');
}

function retentionText(name: string, { deliveriesDays, eventsDays }: KeptDays): string {
  const time = (kept: number | null) =>
    kept === null ? 'as long as the installation’s' : `for ${kept} days`;
  return `${name}: mails are kept ${time(deliveriesDays)}, events ${time(eventsDays)}.`;
}

async function resumeSending(cli: CliContext, project: string) {
  const { MessagingModule, SendingStopsService } = await import('#messaging');
  const resumed = await withServices(
    cli,
    async ({ get, projectList }) =>
      get(SendingStopsService).resume((await findProject(projectList, project)).live),
    [MessagingModule],
  );
  if (!resumed) throw new OperatorError('not-stopped', `The sending of ${project} is not stopped.`);
  return { resumed };
}
