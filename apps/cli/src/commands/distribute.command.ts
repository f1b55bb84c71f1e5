import type { Command } from 'commander';
import type { Distribution } from '#platform';
import { type CliContext, printResult } from '../cli-context.js';

export function addDistribute(program: Command, cli: CliContext): void {
  program
    .command('distribute')
    .description('spread the tables of all projects over the nodes of a Citus cluster')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const [{ distribute }, { configuration }] = await Promise.all([
        import('#platform'),
        import('../operator-services.js'),
      ]);
      const { DATABASE_URL, DATABASE_OWNER_URL } = configuration(cli.env);
      const result = await distribute(DATABASE_OWNER_URL ?? DATABASE_URL);
      printResult(cli, json, result, () => asText(result));
    });
}

function asText({ distributed, unchanged, local }: Distribution): string {
  return [
    ...distributed.map((name) => `Distributed ${name}`),
    `${distributed.length + unchanged.length} tables are distributed by their environment, ` +
      `${local.length} stay on the coordinator.`,
  ].join('\n');
}
