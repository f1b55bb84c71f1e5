import { z } from 'zod';
import type { RunCli } from './cli-program.js';
import { type DemoFile, readDemoFile, writeDemoFile } from './demo-file.js';
import { LaunchError } from './launch.error.js';

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

/** Whether the api knows both keys. It does not know the keys of a demo in another database. */
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
