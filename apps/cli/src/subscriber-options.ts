import { type Command, Option } from 'commander';
import type { ProjectsQuery } from '#access';
import { type EmailAddress, parseEmailAddress, type ProjectScope } from '#kernel';
import { UsageError } from './failures.js';
import { findProject } from './find-project.js';

/** The options that say of whom a command speaks. */
export interface SubscriberOptions {
  readonly project: string;
  readonly env: 'live' | 'test';
  readonly email: string;
}

export function withSubscriberOptions(command: Command): Command {
  return command
    .requiredOption('--project <project>', 'e.g. ACME/APIT, or APIT where only one tenant has it')
    .addOption(new Option('--env <env>', 'the environment').choices(['live', 'test']).makeOptionMandatory())
    .requiredOption('--email <email>', 'the address of the person');
}

/** The address that was named. Throws a `UsageError` that says what is wrong with it. */
export function addressOf({ email }: SubscriberOptions): EmailAddress {
  const parsed = parseEmailAddress(email);
  if ('fault' in parsed) throw new UsageError(`--email ${parsed.fault}`);
  return parsed.address;
}

export async function scopeOf(
  { project, env }: SubscriberOptions,
  projects: ProjectsQuery,
): Promise<ProjectScope> {
  return findProject(await projects.list(), project)[env];
}
