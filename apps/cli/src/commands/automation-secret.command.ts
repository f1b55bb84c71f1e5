import { type Command, Option } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { findProject } from '../find-project.js';

interface Options {
  readonly project: string;
  readonly env: 'live' | 'test';
  readonly json?: true;
}

export function addAutomationSecret(program: Command, cli: CliContext): void {
  program
    .command('automation:secret')
    .description('print the secret that signs the webhooks of a project’s automations')
    .requiredOption('--project <project>', 'e.g. ACME/APIT')
    .addOption(new Option('--env <env>', 'the environment').choices(['live', 'test']).makeOptionMandatory())
    .option('--json', 'print one line of JSON')
    .action(async ({ json, ...wanted }: Options) => {
      const secret = await secretOf(cli, wanted);
      printResult(cli, json, { secret }, () => secret);
    });
}

async function secretOf(cli: CliContext, { project, env }: Omit<Options, 'json'>): Promise<string> {
  const [{ withServices }, { AutomationSecretsService, AutomationSecretsModule }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  return withServices(
    cli.env,
    async ({ projectList, get }) =>
      get(AutomationSecretsService).of(findProject(await projectList.list(), project)[env]),
    [AutomationSecretsModule],
  );
}
