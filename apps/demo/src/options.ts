import { readFile } from 'node:fs/promises';
import { Command, InvalidArgumentError } from 'commander';
import { z } from 'zod';

/** The demo cannot start; the message tells the user what to do. */
export class DemoError extends Error {
  override readonly name = 'DemoError';
}

const parsedOptions = z.object({
  baseUrl: z.string().optional(),
  key: z.string().optional(),
  quiet: z.boolean().default(false),
  patience: z.number(),
});

/** Commands to type: of a clone where `npm run demo` was, else of the npm package. */
export const COMMANDS =
  process.env['npm_lifecycle_event'] === 'demo'
    ? { start: 'npm start', demo: 'npm run demo --' }
    : { start: 'mailwright start', demo: 'mailwright demo' };

/** The options of `mailwright demo …` and `npm run demo -- …`; `patience` in seconds. */
export type DemoOptions = z.output<typeof parsedOptions>;

/**
 * Parses the arguments after `node main.js`. Prints help and errors to the terminal, then throws a `CommanderError` with
 * its `exitCode`.
 */
export function parseOptions(args: readonly string[]): DemoOptions {
  const command = new Command(COMMANDS.demo)
    .description(
      'Takes a subscriber from sign-up to unsubscribing against a running Mailwright, and shows each request.',
    )
    .option('--base-url <url>', 'the address of Mailwright (default: the one in .data/demo.json)', toBaseUrl)
    .option('--key <key>', 'a test key with all scopes (default: the one in .data/demo.json)', toTestKey)
    .option('--patience <seconds>', 'how long to wait for the worker each time', toSeconds, 30)
    .option('--quiet', 'print the summary only')
    .allowExcessArguments(false)
    .exitOverride()
    .parse(args, { from: 'user' });
  return parsedOptions.parse(command.opts());
}

function toBaseUrl(text: string): string {
  const url = URL.parse(text);
  if (url === null || !['http:', 'https:'].includes(url.protocol)) {
    throw new InvalidArgumentError('It must be an address such as http://localhost:3000.');
  }
  return text.replace(/\/+$/, '');
}

/** A live key would mail real people. */
function toTestKey(text: string): string {
  if (!text.startsWith('mw_test_')) {
    throw new InvalidArgumentError('It must be a test key, which begins with mw_test_.');
  }
  return text;
}

function toSeconds(text: string): number {
  const seconds = Number(text);
  if (!/^\d+(\.\d+)?$/.test(text) || seconds > 3_600) {
    throw new InvalidArgumentError('It must be a number of seconds, at most 3600.');
  }
  return seconds;
}

const demoFile = z.object({ baseUrl: z.url(), testKey: z.string().startsWith('mw_test_') });

/** The address and key of the system that the demo calls. */
export interface Target {
  readonly baseUrl: string;
  readonly key: string;
}

/**
 * Reads the target from the options, completed by the file that `mailwright start` writes. Throws `DemoError` when that file
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
        `Start Mailwright with \`${COMMANDS.start}\` in another terminal, wait until it says that it runs, and try again.\n` +
        `Or say where it runs: ${COMMANDS.demo} --base-url http://localhost:3000 --key mw_test_…`,
      { cause: error },
    );
  }
}
