import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { OperatorError } from '../failures.js';
import { findProject } from '../find-project.js';

interface Options {
  readonly project: string;
  readonly json?: true;
}

export function addProjectResumeSending(program: Command, cli: CliContext): void {
  program
    .command('project:resume-sending')
    .description('resume the sending of a project that was stopped for bounces or complaints')
    .requiredOption('--project <project>', 'e.g. ACME/APIT, or APIT where only one tenant has it')
    .option('--json', 'print one line of JSON')
    .action(async ({ project, json }: Options) => {
      if (!(await resume(cli, project)))
        throw new OperatorError('not-stopped', `The sending of ${project} is not stopped.`);
      printResult(
        cli,
        json,
        { resumed: true },
        () => `${project} may send again. Its campaigns are still paused: resume each of them.`,
      );
    });
}

async function resume(cli: CliContext, project: string): Promise<boolean> {
  const [{ withServices }, { MessagingModule, SendingStops }] = await Promise.all([
    import('../operator-services.js'),
    import('#messaging'),
  ]);
  return withServices(
    cli.env,
    async ({ get, projectList }) =>
      get(SendingStops).resume(findProject(await projectList.list(), project).live),
    [MessagingModule],
  );
}
