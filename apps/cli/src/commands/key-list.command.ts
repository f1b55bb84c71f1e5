import type { Command } from 'commander';
import type { ApiKeySummary } from '#access';
import { API_SCOPES } from '#kernel';
import { type CliContext, printResult } from '../cli-context.js';
import { findProject, projectName } from '../find-project.js';
import { table } from '../table.js';

interface Options {
  readonly project?: string;
  readonly json?: true;
}

const HEADINGS = ['ID', 'PROJECT', 'ENV', 'NAME', 'KEY', 'STATUS', 'LIMIT', 'SCOPES', 'CREATED', 'EXPIRES'];

export function addKeyList(program: Command, cli: CliContext): void {
  program
    .command('key:list')
    .description('list API keys, newest first')
    .option('--project <project>', 'only keys of this project, e.g. ACME/APIT')
    .option('--json', 'print one line of JSON')
    .action(async ({ project, json }: Options) => {
      const { withServices } = await import('../operator-services.js');
      const keys = await withServices(cli.env, async ({ apiKeys, projectList }) => {
        if (project === undefined) return apiKeys.list();
        return apiKeys.list(findProject(await projectList.list(), project).id);
      });
      printResult(cli, json, keys, () =>
        keys.length === 0 ? 'There are no keys.' : table(HEADINGS, keys.map(row)),
      );
    });
}

function row(key: ApiKeySummary): string[] {
  return [
    key.id,
    projectName(key),
    key.environment.toLowerCase(),
    key.name,
    `${key.prefix}…${key.lastFour}`,
    key.status.toLowerCase(),
    key.rateLimitPerMinute === null ? 'default' : String(key.rateLimitPerMinute),
    key.scopes.length === API_SCOPES.length ? 'all' : key.scopes.join(','),
    day(key.createdAt),
    key.expiresAt === null ? 'never' : day(key.expiresAt),
  ];
}

function day(at: Date): string {
  return at.toISOString().slice(0, 10);
}
