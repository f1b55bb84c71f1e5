import { execFile } from 'node:child_process';
import { mkdir, symlink, writeFile } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import { projectRoot } from '../../../libs/platform/src/project-root.js';
import type { ApiClient } from './api-client.js';
import { createTestDatabase, type TestDatabase } from '../postgres/database.js';
import { runCliForJson } from '../programs/operator-cli.js';
import { SECRETS, type System } from '../programs/system.js';

const ROOT = projectRoot();

/** Things that the samples of one page share: a project of their own, and a directory. */
export interface SampleRoom {
  readonly directory: string;
  readonly client: ApiClient;
  /** For SQL and the operator's commands, which work on a database of their own; null where a page has none of them. */
  readonly database: TestDatabase | null;
  readonly environment: Record<string, string>;
}

interface RoomOptions {
  readonly isOperators: boolean;
  readonly makesAcme: boolean;
  /** Default: all. */
  readonly operatorScopes?: string | undefined;
}

export interface Outcome {
  readonly exitCode: number;
  readonly output: string;
}

/** Lets programs below `directory` import the built SDK by its name. */
export async function installSdk(directory: string): Promise<void> {
  await writeFile(join(directory, 'package.json'), JSON.stringify({ type: 'module' }));
  const sdk = join(directory, 'node_modules/@mailwright/sdk');
  await mkdir(sdk, { recursive: true });
  const entry = (name: string) => ({ types: `./src/${name}.ts`, default: `./built/${name}.js` });
  const exports = { '.': entry('index'), './operator': entry('operator') };
  await writeFile(join(sdk, 'package.json'), JSON.stringify({ type: 'module', exports }));
  await symlink(join(ROOT, 'packages/sdk/src'), join(sdk, 'src'));
  await symlink(join(ROOT, 'dist/packages/sdk/src'), join(sdk, 'built'));
}

/**
 * A project DEMO as `npm start` makes it, and for a page that is the operator's a database, which has ACME/NEWS unless the
 * page makes that itself, and an operator's key with `operatorScopes`.
 */
export async function openRoom(
  system: System,
  directory: string,
  { isOperators, makesAcme, operatorScopes = 'all' }: RoomOptions,
): Promise<SampleRoom> {
  const client = await (await system.project('DEMO')).client('TEST');
  await client.post('/topics', { name: 'Product news', doubleOptInEnabled: true });
  await client.post('/topics', { name: 'Release notes', doubleOptInEnabled: false });
  const database = isOperators ? await createTestDatabase() : null;
  const urls = database && { DATABASE_URL: database.url, DATABASE_OWNER_URL: database.adminUrl };
  const operator = { ...urls, ...SECRETS };
  if (isOperators && !makesAcme) await makeAcme(operator);
  const testKey = client.key ?? '';
  const operatorKey = isOperators ? await makeOperatorKey(system, operatorScopes) : '';
  await mkdir(join(directory, '.data'), { recursive: true });
  await writeFile(join(directory, '.data/demo.json'), JSON.stringify({ baseUrl: system.baseUrl, testKey }));
  const environment = {
    ...operator,
    MAILWRIGHT_TEST_SHARED_SYSTEM: process.env['MAILWRIGHT_TEST_SHARED_SYSTEM'] ?? '',
    // The names of the samples lead nowhere here.
    OUTGOING_PRIVATE_ADDRESSES: 'true',
    PATH: `${dirname(process.execPath)}:${process.env['PATH'] ?? ''}`,
    ROOT,
    MAILWRIGHT_URL: system.baseUrl,
    MAILWRIGHT_KEY: testKey,
    MAILWRIGHT_OPERATOR_KEY: operatorKey,
  };
  return { directory, client, database, environment };
}

async function makeOperatorKey({ variables }: System, scopes: string): Promise<string> {
  const asked = ['operator-key:create', '--name', 'Samples', '--scopes', scopes];
  return String((await runCliForJson(variables, asked))['key']);
}

async function makeAcme(operator: Readonly<Record<string, string>>): Promise<void> {
  await runCliForJson(operator, ['tenant:create', '--key', 'ACME', '--name', 'Acme Inc']);
  const names = ['--tenant', 'ACME', '--key', 'NEWS', '--name', 'Acme News', '--sender-name', 'Acme'];
  const addresses = ['--postal-address', '1 Main Street', '--from', 'news@acme.example'];
  await runCliForJson(operator, ['project:create', ...names, ...addresses]);
}

/** Compiles programs in `directory`, where the SDK is, and tells what the compiler says. */
export async function compileIn(
  directory: string,
  include: readonly string[],
  timeoutMs: number,
): Promise<Outcome> {
  const types = { types: ['node'], typeRoots: [join(ROOT, 'node_modules/@types')] };
  const compilerOptions = { rootDir: '/', noEmit: true, ...types };
  const config = { extends: join(ROOT, 'packages/sdk/tsconfig.json'), include, compilerOptions };
  await writeFile(join(directory, 'tsconfig.json'), JSON.stringify(config));
  const compiler = join(ROOT, 'node_modules/typescript-native/bin/tsc');
  const environment = { PATH: process.env['PATH'] ?? '' };
  return runIn({ directory, environment }, process.execPath, [compiler, '-p', directory], timeoutMs);
}

/** Runs a program in the room to its end, or for `timeoutMs` at most. */
export function runIn(
  { directory, environment }: Pick<SampleRoom, 'directory' | 'environment'>,
  program: string,
  args: readonly string[],
  timeoutMs: number,
): Promise<Outcome> {
  return new Promise((resolve) => {
    const options = { cwd: directory, env: environment, timeout: timeoutMs };
    const child = execFile(program, args, options, (_error, stdout, stderr) =>
      resolve({ exitCode: child.exitCode ?? -1, output: stdout + stderr }),
    );
  });
}
