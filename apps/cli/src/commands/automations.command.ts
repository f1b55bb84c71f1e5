import type { Command } from 'commander';
import type { InstalledAutomation } from '#messaging';
import { type EnvironmentOptions, inEnvironment, withEnvironmentOptions } from '../command.js';
import { namingOptions } from '../failures.js';
import { type CliContext, printing, table } from '../output.js';

interface InstallOptions extends EnvironmentOptions {
  readonly template: string;
  readonly topic: string;
  readonly segment?: string;
}

const OPTIONS = { template: '--template', topicKey: '--topic', segmentKey: '--segment' };
const HEADINGS = ['TEMPLATE', 'TRIGGER', 'NEEDS', 'WHAT IT DOES'];

export function addAutomationCommands(program: Command, cli: CliContext): void {
  program
    .command('automation:templates')
    .description('list the templates that automation:install can use')
    .action(
      printing(cli, listTemplates, ({ templates }) => {
        const row = (one: (typeof templates)[number]) => [
          one.template,
          one.trigger,
          one.needs,
          one.description,
        ];
        return table(HEADINGS, templates.map(row));
      }),
    );
  withEnvironmentOptions(program.command('automation:install'))
    .description(
      'create a draft from an automation template, with the segment and custom fields that it needs',
    )
    .requiredOption('--template <name>', 'a template that automation:templates lists')
    .requiredOption('--topic <key>', 'the topic of its mails, e.g. APIT-1')
    .option('--segment <key>', 'a segment to use instead of the template’s own')
    .action(printing(cli, (options: InstallOptions) => install(cli, options), asText));
  withEnvironmentOptions(program.command('automation:secret'))
    .description('print the secret that signs the webhooks of a project’s automations')
    .action(
      printing(
        cli,
        (options: EnvironmentOptions) => showSecret(cli, options),
        ({ secret }) => secret,
      ),
    );
}

async function listTemplates() {
  const { automationTemplateNames, loadAutomationTemplate } = await import('#messaging');
  const templates = automationTemplateNames().flatMap((name) => {
    const template = loadAutomationTemplate(name);
    if (template === null) return [];
    const { description, trigger, segment, customFields } = template;
    const needs = [...(segment === null ? [] : ['a segment']), ...customFields.map(({ key }) => key)];
    return [{ template: name, trigger: trigger.type, needs: needs.join(', '), description }];
  });
  return { templates };
}

async function install(cli: CliContext, options: InstallOptions): Promise<InstalledAutomation> {
  const { AutomationTemplatesService, AutomationsModule } = await import('#messaging');
  const { template, topic: topicKey, segment: segmentKey = null } = options;
  return inEnvironment(
    cli,
    options,
    (scope, get) =>
      namingOptions(OPTIONS, async () =>
        get(AutomationTemplatesService).install(scope, { template, topicKey, segmentKey }),
      ),
    [AutomationsModule],
  );
}

async function showSecret(cli: CliContext, options: EnvironmentOptions) {
  const { AutomationSecretsService, AutomationSecretsModule } = await import('#messaging');
  return inEnvironment(
    cli,
    options,
    async (scope, get) => ({ secret: await get(AutomationSecretsService).of(scope) }),
    [AutomationSecretsModule],
  );
}

function asText({ automationKey, segmentKey, customFields }: InstalledAutomation): string {
  const segment = segmentKey === null ? '' : ` for the segment ${segmentKey}`;
  const fields = customFields.map((key) => `\nMade the custom field ${key}.`).join('');
  return `${automationKey} is a draft${segment}. Change its mails, then activate it.${fields}`;
}
