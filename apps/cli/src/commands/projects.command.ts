import type { Command } from 'commander';
import { type CliContext, printResult } from '../cli-context.js';
import { namingOptions } from '../failures.js';
import { projectName } from '../find-project.js';
import { findTenant } from '../find-tenant.js';
import { table } from '../table.js';

interface Options {
  readonly tenant: string;
  readonly key: string;
  readonly name: string;
  readonly description?: string;
  readonly senderName: string;
  readonly postalAddress: string;
  readonly from?: string;
  readonly json?: true;
}

const OPTIONS = {
  projectKey: '--key',
  name: '--name',
  description: '--description',
  senderName: '--sender-name',
  postalAddress: '--postal-address',
  defaultFromEmail: '--from',
};

export function addProjectCreate(program: Command, cli: CliContext): void {
  program
    .command('project:create')
    .description('create a project with its live and test environments')
    .requiredOption('--tenant <key>', 'the tenant that it belongs to')
    .requiredOption('--key <key>', '2 to 8 capital letters and digits, e.g. APIT')
    .requiredOption('--name <name>', 'the name of the product or brand')
    .option('--description <text>', 'what it is')
    .requiredOption('--sender-name <name>', 'the name in From for campaigns without one')
    .requiredOption('--postal-address <address>', 'the postal address in the footer of every mail')
    .option('--from <email>', 'the address in From for campaigns without one')
    .option('--json', 'print one line of JSON')
    .action(async (options: Options) => {
      const { withServices } = await import('../operator-services.js');
      const project = await withServices(cli.env, async ({ tenants, projects, database, planLimits }) => {
        const tenant = findTenant(await tenants.list(), options.tenant);
        return namingOptions(OPTIONS, () =>
          database.system(async () => {
            await planLimits.admitProject(tenant.id);
            return projects.create(tenant.id, newProject(options));
          }),
        );
      });
      const { id, projectKey, live, test } = project;
      const names = { tenantKey: options.tenant, projectKey };
      const result = {
        id,
        ...names,
        liveEnvironmentId: live.environmentId,
        testEnvironmentId: test.environmentId,
      };
      printResult(cli, options.json, result, () => `Made the project ${projectName(names)}.`);
    });
}

function newProject({ key, name, description, senderName, postalAddress, from }: Options) {
  return {
    projectKey: key,
    name,
    senderName,
    postalAddress,
    description: description ?? null,
    defaultFromEmail: from ?? null,
  };
}

export function addProjectList(program: Command, cli: CliContext): void {
  program
    .command('project:list')
    .description('list projects by tenant and key')
    .option('--tenant <key>', 'only projects of this tenant')
    .option('--json', 'print one line of JSON')
    .action(async ({ tenant, json }: { readonly tenant?: string; readonly json?: true }) => {
      const { withServices } = await import('../operator-services.js');
      const projects = await withServices(cli.env, async ({ tenants, projectList }) => {
        const all = await projectList.list();
        if (tenant === undefined) return all;
        const { id } = findTenant(await tenants.list(), tenant);
        return all.filter(({ tenantId }) => tenantId === id);
      });
      const result = projects.map(({ id, tenantKey, projectKey, name, live, test }) => ({
        id,
        tenantKey,
        projectKey,
        name,
        liveEnvironmentId: live.environmentId,
        testEnvironmentId: test.environmentId,
      }));
      printResult(cli, json, result, () =>
        result.length === 0
          ? 'There are no projects. Make one with `mailwright project:create`.'
          : table(
              ['ID', 'PROJECT', 'NAME', 'LIVE ENVIRONMENT', 'TEST ENVIRONMENT'],
              result.map((project) => [
                String(project.id),
                projectName(project),
                project.name,
                String(project.liveEnvironmentId),
                String(project.testEnvironmentId),
              ]),
            ),
      );
    });
}
