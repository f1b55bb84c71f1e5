import { type ChildProcess, spawn } from 'node:child_process';
import { cp, mkdtemp, readdir, readFile, readlink, rm, symlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { projectRoot } from '../../../libs/platform/src/project-root.js';
import { ApiClient } from '../http/api-client.js';
import { eventually } from '../time/eventually.js';

export interface Demo {
  readonly baseUrl: string;
  readonly projectKey: string;
  readonly testKey: string;
  readonly liveKey: string;
}

/** Files that the programs read, as the image has them. */
export const PARTS = ['assets', 'dist', 'docs', 'locales', 'migrations', 'package.json', 'packages'];

const { NODE_COMPILE_CACHE } = process.env;

/** `npm start` as on a fresh machine: the built program in a directory of its own, with nothing around it. */
export class NpmStart {
  #launcher: ChildProcess | undefined;

  private constructor(readonly directory: string) {}

  static async prepare(): Promise<NpmStart> {
    const directory = await mkdtemp(join(tmpdir(), 'mailwright-start-'));
    const root = projectRoot();
    for (const part of PARTS) await cp(join(root, part), join(directory, part), { recursive: true });
    await symlink(join(root, 'node_modules'), join(directory, 'node_modules'));
    return new NpmStart(directory);
  }

  async start(): Promise<Demo> {
    let output = '';
    const launcher = spawn(process.execPath, ['dist/apps/launcher/src/main.js'], {
      cwd: this.directory,
      env: { PATH: process.env['PATH'], HOME: process.env['HOME'], NODE_COMPILE_CACHE },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    this.#launcher = launcher;
    for (const stream of [launcher.stdout, launcher.stderr])
      stream.on('data', (chunk: Buffer) => (output += chunk.toString()));
    await eventually('the walk-through is printed', () => output.includes('Ctrl-C stops it')).catch(() => {
      throw new Error(output);
    });
    return JSON.parse(await readFile(join(this.directory, '.data/demo.json'), 'utf8')) as Demo;
  }

  async pressCtrlC(): Promise<void> {
    this.#launcher?.kill('SIGINT');
    await this.#ended();
  }

  /** Kills every process at once; how many there were. */
  async kill(): Promise<number> {
    const processes = await processesIn(this.directory);
    processes.forEach(kill);
    await this.#ended();
    return processes.length;
  }

  async remove(): Promise<void> {
    (await processesIn(this.directory)).forEach(kill);
    await rm(this.directory, { recursive: true, force: true, maxRetries: 20 });
  }

  async #ended(): Promise<void> {
    await eventually('nothing is left', async () => (await processesIn(this.directory)).length === 0);
  }
}

export const topicsOf = async ({ baseUrl, testKey }: Demo) =>
  (await new ApiClient(baseUrl, testKey).get('/topics')).at<
    { topicKey: string; doubleOptInEnabled: boolean }[]
  >('data');

/** SIGKILL to a process, which may have ended since it was found, as PostgreSQL's do with their parent. */
function kill(pid: number): void {
  try {
    process.kill(pid, 'SIGKILL');
  } catch (error) {
    if (!(error instanceof Error && 'code' in error && error.code === 'ESRCH')) throw error;
  }
}

/** Every process whose working directory or command line lies in the directory. */
async function processesIn(directory: string): Promise<number[]> {
  const pids = (await readdir('/proc')).map(Number).filter((pid) => pid > 0 && pid !== process.pid);
  const found = await Promise.all(
    pids.map(async (pid) => {
      const [cwd, command] = await Promise.all([
        readlink(`/proc/${pid}/cwd`).catch(() => ''),
        readFile(`/proc/${pid}/cmdline`, 'utf8').catch(() => ''),
      ]);
      return cwd.startsWith(directory) || command.includes(directory) ? [pid] : [];
    }),
  );
  return found.flat();
}
