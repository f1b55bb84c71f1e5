import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import type { ReceivedMail } from '#testing/mail/sink-rules';
import { executableOf } from '../parts.js';
import type { FilterVerdict } from './filter-verdict.js';

/** They ask others, or remember. */
const OFF = [
  'rbl',
  'fuzzy_check',
  'asn',
  'greylist',
  'ratelimit',
  'history_redis',
  'mx_check',
  'neural',
  'replies',
  'elastic',
  'milter_headers',
];

export interface Rspamd {
  /** Verdict on a mail that came from `client`. */
  verdict(mail: ReceivedMail, client: Client): Promise<FilterVerdict>;
  stop(): Promise<void>;
}

export interface Client {
  readonly address: string;
  readonly hostName: string;
}

/** An rspamd with its own rules as they are shipped, in a directory of its own, that asks one DNS server only. */
export async function startRspamd(dnsServer: string): Promise<Rspamd> {
  const directory = await mkdtemp(join(tmpdir(), 'rspamd-'));
  const port = await freePort();
  await configure(directory, port, await freePort(), dnsServer);
  const places = ['LOCAL_CONFDIR', 'DBDIR', 'RUNDIR', 'LOGDIR'].map((name) => `--var=${name}=${directory}`);
  const program = spawn(
    executableOf('rspamd'),
    ['--no-fork', '--insecure', '--config=/etc/rspamd/rspamd.conf', ...places],
    { stdio: 'ignore' },
  );
  const url = `http://127.0.0.1:${port}`;
  const stop = async () => {
    await ended(program);
    await rm(directory, { recursive: true, force: true });
  };
  try {
    await eventually('rspamd answers', () =>
      fetch(`${url}/ping`).then(
        ({ ok }) => ok,
        () => false,
      ),
    );
  } catch (error) {
    await stop();
    throw error;
  }
  return { verdict: (mail, client) => verdict(url, mail, client), stop };
}

async function configure(directory: string, port: number, controllerPort: number, dnsServer: string) {
  const files: Readonly<Record<string, string>> = {
    'options.inc': `dns { nameserver = ["${dnsServer}:10"]; timeout = 5s; }\ntempdir = "${directory}";`,
    'logging.inc': 'type = "console"; level = "error";',
    'worker-normal.inc': `bind_socket = "127.0.0.1:${port}"; count = 1;`,
    'worker-controller.inc': `bind_socket = "127.0.0.1:${controllerPort}"; count = 1;`,
    'worker-proxy.inc': 'count = 0;',
    ...Object.fromEntries(OFF.map((name) => [`${name}.conf`, 'enabled = false;'])),
  };
  await mkdir(join(directory, 'override.d'));
  for (const [name, text] of Object.entries(files))
    await writeFile(join(directory, 'override.d', name), text);
}

async function verdict(url: string, { raw, from, to }: ReceivedMail, client: Client): Promise<FilterVerdict> {
  const answer = await fetch(`${url}/checkv2`, {
    method: 'POST',
    body: new Uint8Array(raw),
    headers: {
      IP: client.address,
      Hostname: client.hostName,
      Helo: client.hostName,
      From: from,
      Rcpt: to[0] ?? '',
    },
  });
  const found = (await answer.json()) as { score: number; symbols: Record<string, { score: number }> };
  const symbols = Object.entries(found.symbols).map(([name, { score }]) => [name, score] as const);
  return { score: found.score, symbols: new Map(symbols) };
}

async function ended(program: ChildProcess): Promise<void> {
  if (program.exitCode !== null || program.signalCode !== null) return;
  const exit = once(program, 'exit');
  program.kill('SIGTERM');
  await exit;
}
