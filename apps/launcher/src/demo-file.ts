import { z } from 'zod';
import { readIfPresent, writePrivateFile } from './private-file.js';

const demoFile = z.object({
  baseUrl: z.string(),
  projectKey: z.string(),
  testKey: z.string().startsWith('mw_test_'),
  liveKey: z.string().startsWith('mw_live_'),
});

/** What a client needs to use the demo project. Only this file has its keys: the database has hashes. */
export type DemoFile = z.infer<typeof demoFile>;

/** Null when the file is missing or incomplete. */
export async function readDemoFile(path: string): Promise<DemoFile | null> {
  const text = await readIfPresent(path);
  if (text === null) return null;
  try {
    return demoFile.parse(JSON.parse(text));
  } catch {
    return null;
  }
}

/** Mode 0600, replaced atomically. */
export async function writeDemoFile(path: string, demo: DemoFile): Promise<void> {
  await writePrivateFile(path, `${JSON.stringify(demo, null, 2)}\n`);
}
