import { z } from 'zod';
import { parseJson, readIfPresent, writePrivateFile } from './data-directory.js';
import { LaunchError } from './failure.js';
import type { RunCli } from './programs.js';

const seedResult = z.object({
  created: z.boolean(),
  projectKey: z.string(),
  testKey: z.string().nullable(),
  liveKey: z.string().nullable(),
  topics: z.object({ doubleOptIn: z.string(), singleOptIn: z.string() }),
});

export type DemoTopics = z.infer<typeof seedResult>['topics'];

/** The demo project; `newKeys`: its keys were just created and not shown yet. */
export interface Demo {
  readonly file: DemoFile;
  readonly topics: DemoTopics;
  readonly newKeys: boolean;
}

/**
 * Creates the demo project unless the database has it, and writes its file with the current port. Replaces lost keys,
 * since they cannot be read from the database.
 */
export async function prepareDemo(cli: RunCli, path: string, baseUrl: string): Promise<Demo> {
  const seed = await runSeed(cli);
  const kept = await readDemoFile(path);
  const mine = seed.testKey === null && kept !== null && kept.projectKey === seed.projectKey;
  if (!mine) return seed.testKey === null ? renewKeys(cli, path, baseUrl) : store(seed, path, baseUrl);
  const file = { ...kept, baseUrl };
  await writeDemoFile(path, file);
  return { file, topics: seed.topics, newKeys: false };
}

/** Replaces both keys of the demo project; the old ones are revoked. */
export async function renewKeys(cli: RunCli, path: string, baseUrl: string): Promise<Demo> {
  return store(await runSeed(cli, '--renew-keys'), path, baseUrl);
}

/** True when the api knows both keys. It does not know the keys of a demo in another database. */
export async function keysWork(file: DemoFile): Promise<boolean> {
  const answers = await Promise.all(
    [file.testKey, file.liveKey].map((key) =>
      fetch(`${file.baseUrl}/api/v1/project`, {
        headers: { 'x-api-key': key },
        signal: AbortSignal.timeout(5_000),
      }),
    ),
  );
  return answers.every(({ status }) => status !== 401);
}

async function store(seed: z.infer<typeof seedResult>, path: string, baseUrl: string): Promise<Demo> {
  const { projectKey, testKey, liveKey, topics } = seed;
  if (testKey === null || liveKey === null)
    throw new LaunchError('The demo project was created without keys.');
  const file = { baseUrl, projectKey, testKey, liveKey };
  await writeDemoFile(path, file);
  return { file, topics, newKeys: true };
}

async function runSeed(cli: RunCli, ...options: string[]): Promise<z.infer<typeof seedResult>> {
  const output = await cli('demo:seed', '--json', ...options);
  const line = output.trim().split('\n').at(-1) ?? '';
  try {
    return seedResult.parse(JSON.parse(line));
  } catch (error) {
    throw new LaunchError('The output of the command demo:seed is not valid.', { cause: error });
  }
}

const demoFile = z.object({
  baseUrl: z.string(),
  projectKey: z.string(),
  testKey: z.string().startsWith('mw_test_'),
  liveKey: z.string().startsWith('mw_live_'),
});

/** The address and keys that a client of the demo project needs. Only this file has its keys: the database has hashes. */
export type DemoFile = z.infer<typeof demoFile>;

/** Null when the file is missing or incomplete. */
export async function readDemoFile(path: string): Promise<DemoFile | null> {
  const text = await readIfPresent(path);
  return text === null ? null : (demoFile.safeParse(parseJson(text)).data ?? null);
}

/** Mode 0600, replaced atomically. */
export async function writeDemoFile(path: string, demo: DemoFile): Promise<void> {
  await writePrivateFile(path, `${JSON.stringify(demo, null, 2)}\n`);
}
