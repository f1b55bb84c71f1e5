import type { Command } from 'commander';
import type { InstalledAutomation } from '#messaging';
import { type CliContext, printResult } from '../cli-context.js';
import { type EnvironmentOptions, scopeOf, withEnvironmentOptions } from '../environment-options.js';
import { namingOptions } from '../failures.js';
import { table } from '../table.js';

interface Options extends EnvironmentOptions {
  readonly template: string;
  readonly topic: string;
  readonly segment?: string;
  readonly json?: true;
}

const OPTIONS = { template: '--template', topicKey: '--topic', segmentKey: '--segment' };
const HEADINGS = ['TEMPLATE', 'TRIGGER', 'NEEDS', 'WHAT IT DOES'];

export function addAutomationInstall(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('automation:install'))
    .description(
      'create a draft from an automation template, with the segment and custom fields that it needs',
    )
    .requiredOption('--template <name>', 'a template that automation:templates lists')
    .requiredOption('--topic <key>', 'the topic of its mails, e.g. APIT-1')
    .option('--segment <key>', 'a segment to use instead of the template’s own')
    .option('--json', 'print one line of JSON')
    .action(async ({ json, ...options }: Options) => {
      const made = await install(cli, options);
      printResult(cli, json, made, () => sentenceOf(made));
    });
}

export function addAutomationTemplates(program: Command, cli: CliContext): void {
  program
    .command('automation:templates')
    .description('list the templates that automation:install can use')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: Pick<Options, 'json'>) => {
      const templates = await listed();
      printResult(cli, json, { templates }, () =>
        table(
          HEADINGS,
          templates.map(({ template, trigger, needs, description }) => [
            template,
            trigger,
            needs,
            description,
          ]),
        ),
      );
    });
}

async function listed() {
  const { automationTemplateNames, loadAutomationTemplate } = await import('#messaging');
  return automationTemplateNames().flatMap((name) => {
    const template = loadAutomationTemplate(name);
    if (template === null) return [];
    const { description, trigger, segment, customFields } = template;
    const needs = [...(segment === null ? [] : ['a segment']), ...customFields.map(({ key }) => key)];
    return [{ template: name, trigger: trigger.type, needs: needs.join(', '), description }];
  });
}

async function install(cli: CliContext, options: Omit<Options, 'json'>): Promise<InstalledAutomation> {
  const [{ withServices }, { AutomationTemplatesService, AutomationsModule }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  const { template, topic: topicKey, segment: segmentKey = null } = options;
  return withServices(
    cli.env,
    async ({ get, projectList }) => {
      const scope = await scopeOf(options, projectList);
      return namingOptions(OPTIONS, async () =>
        get(AutomationTemplatesService).install(scope, { template, topicKey, segmentKey }),
      );
    },
    [AutomationsModule],
  );
}

function sentenceOf({ automationKey, segmentKey, customFields }: InstalledAutomation): string {
  const segment = segmentKey === null ? '' : ` for the segment ${segmentKey}`;
  const fields = customFields.map((key) => `\nMade the custom field ${key}.`).join('');
  return `${automationKey} is a draft${segment}. Change its mails, then activate it.${fields}`;
}
