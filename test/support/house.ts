import { createServer, type IncomingMessage } from 'node:http';
import { json } from 'node:stream/consumers';
import { run } from '../../apps/cli/src/program.js';
import type { CliOutcome } from './operator-cli.js';
import { takenPort } from './ports.js';
import { endPrograms } from './program.js';
import { type RunningSystem, startSystem } from './system.js';

/** What a test file needs to know of the system that all files share. */
export interface SharedSystemPlace {
  readonly databaseUrl: string;
  readonly apiPort: number;
  readonly workerPort: number;
  readonly variables: Readonly<Record<string, string>>;
}

export interface CliCall {
  readonly environment: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

/** Nobody answers there: a test's domain must not be looked up in the world. */
const NO_DNS = { DNS_SERVERS: '127.0.0.1:9' };

/**
 * What all files of one test run share, in Jest's own process: one api and worker, started when a file first asks for
 * them, and the built operator's program, loaded once. Files reach it at `MAILWRIGHT_TEST_HOUSE`.
 */
export async function openHouse(): Promise<{ readonly url: string; close(): Promise<void> }> {
  let system: Promise<RunningSystem> | undefined;
  const rooms: Readonly<Record<string, (request: IncomingMessage) => Promise<object>>> = {
    '/system': async () => placeOf(await (system ??= startSystem(NO_DNS))),
    '/cli': async (request) => runCommand((await json(request)) as CliCall),
  };
  const server = createServer((request, response) => {
    const answer = async (): Promise<object> => {
      const room = rooms[request.url ?? ''];
      if (room === undefined) throw new Error(`There is no ${request.url ?? ''} in the house.`);
      return room(request);
    };
    answer().then(
      (body) => response.end(JSON.stringify(body)),
      (error: unknown) => response.writeHead(500).end(String(error)),
    );
  });
  const port = await takenPort(server);
  return {
    url: `http://127.0.0.1:${port}`,
    close: async () => {
      server.close();
      server.closeAllConnections();
      await (await system?.catch(() => undefined))?.stop();
      await endPrograms();
    },
  };
}

function placeOf({ database, api, worker, variables }: RunningSystem): SharedSystemPlace {
  return { databaseUrl: database.adminUrl, apiPort: api.port, workerPort: worker.port, variables };
}

async function runCommand({ environment, args }: CliCall): Promise<CliOutcome> {
  const said = { stdout: '', stderr: '' };
  const exitCode = await run(args, {
    env: environment,
    print: (text) => (said.stdout += text),
    complain: (text) => (said.stderr += text),
  });
  return { exitCode, ...said };
}
