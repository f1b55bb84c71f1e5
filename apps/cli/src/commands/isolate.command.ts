import type { Command } from 'commander';
import type { Isolation } from '#platform';
import { type CliContext, printResult } from '../cli-context.js';
import { type EnvironmentOptions, scopeOf, withEnvironmentOptions } from '../environment-options.js';

interface Options extends EnvironmentOptions {
  readonly node?: string;
  readonly json?: true;
}

export function addIsolate(program: Command, cli: CliContext): void {
  withEnvironmentOptions(program.command('isolate'))
    .description('give an environment a shard of its own in a Citus cluster, on a node of your choice')
    .option('--node <host:port>', 'the node to move it to; default: it stays where it is')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const [{ isolate }, { configuration, withServices }] = await Promise.all([
        import('#platform'),
        import('../operator-services.js'),
      ]);
      const { environmentId } = await withServices(cli.env, ({ projectList }) =>
        scopeOf(options, projectList),
      );
      const { DATABASE_URL, DATABASE_OWNER_URL } = configuration(cli.env);
      const result = await isolate(DATABASE_OWNER_URL ?? DATABASE_URL, environmentId, options.node);
      printResult(cli, options.json, result, () => asText(options, result));
    });
}

function asText({ project, env }: Options, { node, wasAlone, isMoved }: Isolation): string {
  const alone = wasAlone ? 'had a shard of its own already' : 'has a shard of its own now';
  return `The ${env} environment of ${project} ${alone}, ${isMoved ? 'and is now' : 'which is'} on ${node}.`;
}
