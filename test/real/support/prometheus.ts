import { spawn, spawnSync } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { executableOf } from '../parts.js';

/** Output of promtool, and whether it found no fault. */
export function promtool(
  args: readonly string[],
  input = '',
): { readonly isFine: boolean; readonly text: string } {
  const { status, stdout, stderr } = spawnSync(executableOf('prometheus', 'promtool'), args, {
    input,
    encoding: 'utf8',
  });
  return { isFine: status === 0, text: `${stdout}${stderr}` };
}

/** A Prometheus that asks every second. */
export interface RunningPrometheus {
  /** The `data` of an answer of its HTTP API. */
  get<T>(path: string): Promise<T>;
  stop(): Promise<void>;
}

/** `jobs`: the ports of each job; `rules`: the text of a file of rules. */
export async function startPrometheus(
  jobs: Readonly<Record<string, number>>,
  rules: string,
): Promise<RunningPrometheus> {
  const directory = await mkdtemp(join(tmpdir(), 'mailwright-prometheus-'));
  await writeFile(join(directory, 'rules.yml'), rules);
  const config = {
    global: { scrape_interval: '1s', evaluation_interval: '1s' },
    rule_files: [join(directory, 'rules.yml')],
    scrape_configs: Object.entries(jobs).map(([name, port]) => ({
      job_name: name,
      static_configs: [{ targets: [`127.0.0.1:${port}`] }],
    })),
  };
  // JSON is YAML.
  await writeFile(join(directory, 'prometheus.yml'), JSON.stringify(config));
  const port = await freePort();
  const child = spawn(
    executableOf('prometheus', 'prometheus'),
    [
      `--config.file=${join(directory, 'prometheus.yml')}`,
      `--storage.tsdb.path=${join(directory, 'data')}`,
      `--web.listen-address=127.0.0.1:${port}`,
    ],
    { stdio: 'ignore' },
  );
  await eventually('Prometheus is ready', async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/-/ready`).catch(() => null);
    return answer?.ok;
  });
  return {
    get: async <T>(path: string) => {
      const answer = (await (await fetch(`http://127.0.0.1:${port}/api/v1${path}`)).json()) as { data: T };
      return answer.data;
    },
    stop: async () => {
      const exit = once(child, 'exit');
      child.kill('SIGTERM');
      await exit;
      await rm(directory, { recursive: true, force: true });
    },
  };
}
