import { execFile } from 'node:child_process';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../../libs/platform/src/project-root.js';
import { askSharedSystem } from './shared-system-client.js';

export interface CliOutcome {
  readonly exitCode: number;
  readonly stdout: string;
  readonly stderr: string;
}

/**
 * Runs a command of the built operator's program with `environment` and nothing else around it: not in a process of its
 * own, which would load the program anew each time.
 */
export async function runCli(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<CliOutcome> {
  return askSharedSystem<CliOutcome>('/cli', { environment, args });
}

/** Makes the tenant ACME with a project NEWS. */
export async function createNewsOfAcme(environment: Readonly<Record<string, string>>): Promise<void> {
  await runCliForJson(environment, ['tenant:create', '--key', 'ACME', '--name', 'Acme']);
  const project = ['--tenant', 'ACME', '--key', 'NEWS', '--name', 'News', '--sender-name', 'Acme'];
  await runCliForJson(environment, ['project:create', ...project, '--postal-address', '1 Main Street']);
}

/** Runs the built operator's program to its end as a process of its own. */
export function runCliProgram(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<CliOutcome> {
  return new Promise((resolve) => {
    const file = join(projectRoot(), 'dist/apps/cli/src/main.js');
    const program = execFile(
      process.execPath,
      [file, ...args],
      // Away from the `.data` of whoever develops here.
      {
        cwd: tmpdir(),
        env: { NODE_COMPILE_CACHE: process.env['NODE_COMPILE_CACHE'], ...environment },
      },
      (_error, stdout, stderr) => {
        resolve({ exitCode: program.exitCode ?? -1, stdout, stderr });
      },
    );
  });
}

/** Runs a command with `--json` and reads its one line; throws when it fails or prints anything else. */
export async function runCliForJson(
  environment: Readonly<Record<string, string>>,
  args: readonly string[],
): Promise<Record<string, unknown>> {
  const { exitCode, stdout, stderr } = await runCli(environment, [...args, '--json']);
  if (exitCode !== 0 || stderr !== '' || stdout.indexOf('\n') !== stdout.length - 1) {
    throw new Error(`The program ended with ${exitCode}:\n${stdout}${stderr}`);
  }
  return JSON.parse(stdout) as Record<string, unknown>;
}
