import { type Command, Option } from 'commander';
import type { ProjectsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { findProject } from './find-project.js';

/** The options for the project and environment of a command. */
export interface EnvironmentOptions {
  readonly project: string;
  readonly env: 'live' | 'test';
}

export function withEnvironmentOptions(command: Command): Command {
  return command
    .requiredOption('--project <project>', 'e.g. ACME/APIT, or APIT where only one tenant has it')
    .addOption(new Option('--env <env>', 'the environment').choices(['live', 'test']).makeOptionMandatory());
}

export async function scopeOf(
  { project, env }: EnvironmentOptions,
  projects: ProjectsQuery,
): Promise<ProjectScope> {
  return findProject(await projects.list(), project)[env];
}
