import { readFile } from 'node:fs/promises';
import { z } from 'zod';
import { DemoError } from './demo.error.js';
import type { DemoOptions } from './options.js';

const demoFile = z.object({ baseUrl: z.url(), testKey: z.string().startsWith('mw_test_') });

/** The address and key of the system that the demo calls. */
export interface Target {
  readonly baseUrl: string;
  readonly key: string;
}

/**
 * Reads the target from the options, completed by the file that `npm start` writes. Throws `DemoError` when that file
 * is needed and missing.
 */
export async function findTarget(
  { baseUrl, key }: Pick<DemoOptions, 'baseUrl' | 'key'>,
  path: string,
): Promise<Target> {
  if (baseUrl !== undefined && key !== undefined) return { baseUrl, key };
  const file = await readDemoFile(path);
  return { baseUrl: baseUrl ?? file.baseUrl.replace(/\/+$/, ''), key: key ?? file.testKey };
}

/** A key for people to recognise, not to use: `mw_test_…wxyz`. */
export function maskedKey(key: string): string {
  return `mw_test_…${key.slice(-4)}`;
}

async function readDemoFile(path: string): Promise<z.infer<typeof demoFile>> {
  try {
    return demoFile.parse(JSON.parse(await readFile(path, 'utf8')));
  } catch (error) {
    throw new DemoError(
      `There is no demo project yet: ${path} is missing or damaged.\n` +
        'Start Mailwright with `npm start` in another terminal, wait until it says that it runs, and try again.\n' +
        'Or say where it runs: npm run demo -- --base-url http://localhost:3000 --key mw_test_…',
      { cause: error },
    );
  }
}
