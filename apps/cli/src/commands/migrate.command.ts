import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';

export function addMigrate(program: Command, cli: CliContext): void {
  program
    .command('migrate')
    .description('migrate the database to the schema of this version')
    .option('--json', 'print one line of JSON')
    .action(async ({ json }: { json?: true }) => {
      const [{ migrate }, { configuration }] = await Promise.all([
        import('#platform'),
        import('../operator-services.js'),
      ]);
      const { DATABASE_URL, DATABASE_OWNER_URL } = configuration(cli.env);
      const applied = await migrate(DATABASE_OWNER_URL ?? DATABASE_URL, DATABASE_URL);
      printResult(cli, json, { applied }, () =>
        applied.length === 0
          ? 'The database is up to date.'
          : applied.map((name) => `Applied ${name}`).join('\n'),
      );
    });
}
