import { join, relative } from 'node:path';
import { z } from 'zod';
import { Supervisor } from '#platform/supervisor';
import {
  type DataDirectoryLock,
  lockDataDirectory,
  makeDataDirectory,
  parseJson,
  readIfPresent,
  readOrMakeSecrets,
  writePrivateFile,
} from './data-directory.js';
import { type Demo, keysWork, prepareDemo, renewKeys } from './demo.js';
import {
  allowsPrivateAddresses,
  embeddedDatabase,
  type Environment,
  given,
  givenDatabase,
  localUrl,
  programEnvironment,
} from './environment.js';
import { LaunchError } from './failure.js';
import type { LauncherOptions } from './options.js';
import { holdPort } from './ports.js';
import { type LongRunningProgram, programFlags } from './program-flags.js';
import { cliRunner, type PostgresRun, type RunCli, runNodeProgram, runPostgres } from './programs.js';
import { walkthrough } from './walkthrough.js';

const DATABASE = 'mailwright';
const NEAR_5432 = Array.from({ length: 20 }, (_, index) => 5433 + index);
const NAMES: Readonly<Record<LongRunningProgram, string>> = { api: 'API', worker: 'Worker' };
const PROGRAM_PATIENCE_MS = 4_000;
const STOP_WITHIN_MS = 4_800;

/** The programs and directories of the launcher. Paths are absolute. */
export interface LauncherSetup {
  readonly dataDirectory: string;
  readonly programs: { readonly cli: string; readonly api: string; readonly worker: string };
  readonly env: Environment;
  readonly options: LauncherOptions;
}

/** Starts all programs of Mailwright on one machine, keeps them running, and stops them in order. */
export class Launcher {
  readonly #aborted = new AbortController();
  readonly #programs: Supervisor[] = [];
  #postgres: Supervisor | undefined;
  #lock: DataDirectoryLock | undefined;

  constructor(
    private readonly setup: LauncherSetup,
    private readonly progress: Progress,
  ) {}

  /** Resolves when everything runs and the walkthrough is printed. After a rejection, call `stop`. */
  async start(): Promise<void> {
    const { env, options, programs } = this.setup;
    await makeDataDirectory(this.setup.dataDirectory);
    this.#lock = await lockDataDirectory(this.setup.dataDirectory);
    const secrets = await readOrMakeSecrets(this.#path('secrets.json'), this.#path('postgres'));
    const apiPort = await holdPort('the API', {
      wanted: this.#wantedPort(),
      preferred: [3000],
      host: given(env, 'HOST') ?? '127.0.0.1',
    });
    const { port } = apiPort;
    const database = givenDatabase(env) ?? embeddedDatabase(await this.#startPostgres(port));
    const programEnv = programEnvironment(env, {
      databaseUrl: database.url,
      port,
      secrets,
      smtp: options.smtp,
    });
    const operatorEnv = { ...programEnv, DATABASE_OWNER_URL: database.ownerUrl };
    const cli = cliRunner(programs.cli, operatorEnv, this.#aborted.signal);
    await this.progress.step(
      () => this.#unlessAborted(cli('migrate')),
      () => 'Database schema is up to date',
    );
    const demo = options.demo ? await this.#prepareDemo(cli, localUrl(env, port)) : undefined;
    await apiPort.release();
    await Promise.all([
      this.#startProgram('api', programEnv, `API on ${localUrl(env, port)}`),
      this.#startProgram('worker', { ...programEnv }, 'Worker'),
    ]);
    this.progress.line();
    if (demo === undefined) this.progress.line(`Mailwright runs on ${localUrl(env, port)}. Ctrl-C stops it.`);
    else this.#tellDemo(await this.#withWorkingKeys(demo, cli));
  }

  /** Stops the api and the worker, then PostgreSQL, within 5 s. */
  async stop(): Promise<void> {
    const started = performance.now();
    this.#aborted.abort();
    await Promise.all(this.#programs.map((program) => program.stop(PROGRAM_PATIENCE_MS)));
    await this.#postgres?.stop(Math.max(500, STOP_WITHIN_MS - (performance.now() - started)));
    await this.#lock?.release();
  }

  /** Kills all programs at once; PostgreSQL recovers at its next start. */
  kill(): void {
    for (const supervisor of [...this.#programs, this.#postgres]) supervisor?.kill();
  }

  #path(name: string): string {
    return join(this.setup.dataDirectory, name);
  }

  #wantedPort(): number | undefined {
    const text = given(this.setup.env, 'PORT');
    const wanted = this.setup.options.port ?? (text === undefined ? undefined : Number(text));
    if (wanted !== undefined && !(Number.isInteger(wanted) && wanted >= 0 && wanted <= 65_535)) {
      throw new LaunchError(`PORT must be a port, not "${text}".`);
    }
    return wanted;
  }

  /** Resolves to the superuser's connection string. */
  async #startPostgres(apiPort: number): Promise<string> {
    const { env } = this.setup;
    const directory = this.#path('postgres');
    const logFile = this.#path('postgres.log');
    const preferredPorts = [...(await this.#rememberedPorts()), ...NEAR_5432];
    let latest: PostgresRun | undefined;
    let port: number | undefined;
    const begin = () => {
      latest = runPostgres({ directory, logFile, ...(port === undefined ? { preferredPorts } : { port }) });
      return latest;
    };
    this.#postgres = new Supervisor('PostgreSQL', begin, (line) => this.progress.line(line));
    const postgres = this.#postgres;
    await this.progress.step(
      async () => {
        await this.#unlessAborted(postgres.start());
        port = (await latest?.ready)?.port;
      },
      () => `PostgreSQL 18 on port ${port}, data in ${relative(process.cwd(), directory)}`,
    );
    // The CLI reads it, so that the links that it prints lead to this api, with or without a demo project.
    const publicUrl = given(env, 'PUBLIC_URL') ?? localUrl(env, apiPort);
    const found = { postgres: port, publicUrl, privateAddresses: allowsPrivateAddresses(env) };
    await writePrivateFile(this.#path('ports.json'), `${JSON.stringify(found)}\n`);
    const server = await latest?.ready;
    if (server === undefined) throw new LaunchError('PostgreSQL did not start.');
    await server.ensureDatabase(DATABASE);
    return server.url(DATABASE);
  }

  async #rememberedPorts(): Promise<number[]> {
    const text = await readIfPresent(this.#path('ports.json'));
    const ports = z.object({ postgres: z.number() }).safeParse(parseJson(text ?? ''));
    return ports.success ? [ports.data.postgres] : [];
  }

  #prepareDemo(cli: RunCli, baseUrl: string): Promise<Demo> {
    return this.progress.step(
      () => this.#unlessAborted(prepareDemo(cli, this.#path('demo.json'), baseUrl)),
      ({ file }) => `Demo project ${file.projectKey}`,
    );
  }

  async #startProgram(
    program: LongRunningProgram,
    env: NodeJS.ProcessEnv,
    description: string,
  ): Promise<void> {
    const name = NAMES[program];
    const supervised = new Supervisor(
      name,
      () => runNodeProgram(name, this.setup.programs[program], { env, flags: programFlags(program) }),
      (line) => this.progress.line(line),
    );
    this.#programs.push(supervised);
    await this.progress.step(
      () => this.#unlessAborted(supervised.start()),
      () => description,
    );
  }

  async #withWorkingKeys(demo: Demo, cli: RunCli): Promise<Demo> {
    if (demo.newKeys || (await keysWork(demo.file).catch(() => true))) return demo;
    return renewKeys(cli, this.#path('demo.json'), demo.file.baseUrl);
  }

  #tellDemo({ file, topics, newKeys }: Demo): void {
    const keysFile = relative(process.cwd(), this.#path('demo.json'));
    if (newKeys) {
      this.progress.line(`The keys of the demo project, shown this once and kept in ${keysFile}:`);
      this.progress.line(`  test  ${file.testKey}\n  live  ${file.liveKey}\n`);
    }
    this.progress.line(walkthrough(file, topics));
    this.progress.line(
      `Mailwright runs on ${file.baseUrl}, its documentation is ${file.baseUrl}/docs. Ctrl-C stops it.`,
    );
  }

  /** Throws when a stop was requested meanwhile. */
  async #unlessAborted<T>(work: Promise<T>): Promise<T> {
    const result = await work;
    this.#aborted.signal.throwIfAborted();
    return result;
  }
}

/** Prints the launcher's progress: one line for each step, with its time. */
export class Progress {
  constructor(
    private readonly write: (text: string) => void,
    private readonly now: () => number,
  ) {}

  line(text = ''): void {
    this.write(`${text}\n`);
  }

  /** Runs a step, then prints its result and milliseconds. */
  async step<T>(work: () => Promise<T>, describe: (result: T) => string): Promise<T> {
    const started = this.now();
    const result = await work();
    this.line(`  ${describe(result).padEnd(60)} ${String(Math.round(this.now() - started)).padStart(6)} ms`);
    return result;
  }
}
