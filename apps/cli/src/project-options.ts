import { type Command, Option } from 'commander';
import type { ProjectsQuery } from '#access';
import type { ProjectScope } from '#kernel';
import { findProject } from './find-project.js';

/** The options that say of which project environment a command speaks. */
export interface ProjectOptions {
  readonly project: string;
  readonly env: 'live' | 'test';
}

export function withProjectOptions(command: Command): Command {
  return command
    .requiredOption('--project <project>', 'e.g. ACME/APIT, or APIT where only one tenant has it')
    .addOption(new Option('--env <env>', 'the environment').choices(['live', 'test']).makeOptionMandatory());
}

export async function scopeOf(
  { project, env }: ProjectOptions,
  projects: ProjectsQuery,
): Promise<ProjectScope> {
  return findProject(await projects.list(), project)[env];
}
