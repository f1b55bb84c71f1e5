import { execFileSync } from 'node:child_process';
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#testing/programs/ports';
import { executableOf } from '../parts.js';
import type { NextHops } from './mta.js';
import { serverDirectory, type ServerProcess, startServerProcess } from './server-process.js';

type Settings = Readonly<Record<string, string>>;

/** One Postfix, its server once for each of several sets of settings. */
export interface Postfix {
  /** URLs by the names of `services`. */
  readonly urls: Readonly<Record<string, string>>;
  stop(): Promise<void>;
}

/** Settings that every instance needs beside another, and the port that it hands mail on to. */
export const instanceSettings = (directory: string, everywhere: number): Settings => ({
  queue_directory: join(directory, 'queue'),
  data_directory: join(directory, 'data'),
  maillog_file: join(directory, 'log'),
  maillog_file_prefixes: directory,
  inet_interfaces: '127.0.0.1',
  relayhost: `[127.0.0.1]:${everywhere}`,
});

/** All else is as Postfix has it. */
const mainSettings = (directory: string, { everywhere, byDomain }: NextHops): Settings => ({
  ...instanceSettings(directory, everywhere),
  compatibility_level: '3.6',
  myhostname: 'mta.test',
  mydestination: '',
  alias_maps: '',
  inet_protocols: 'ipv4',
  transport_maps: `inline:{${Object.entries(byDomain)
    .map(([domain, port]) => `{ ${domain} = smtp:[127.0.0.1]:${port} }`)
    .join(', ')}}`,
});

/** The services that take, queue, hand on and bounce mail, as in the master.cf that Postfix brings. */
export const SERVICES = `
pickup    unix  n       -       n       60      1       pickup
cleanup   unix  n       -       n       -       0       cleanup
qmgr      unix  n       -       n       300     1       qmgr
tlsmgr    unix  -       -       n       1000?   1       tlsmgr
rewrite   unix  -       -       n       -       -       trivial-rewrite
bounce    unix  -       -       n       -       0       bounce
defer     unix  -       -       n       -       0       bounce
trace     unix  -       -       n       -       0       bounce
verify    unix  -       -       n       -       1       verify
flush     unix  n       -       n       1000?   0       flush
proxymap  unix  -       -       n       -       -       proxymap
smtp      unix  -       -       n       -       -       smtp
relay     unix  -       -       n       -       -       smtp
error     unix  -       -       n       -       -       error
retry     unix  -       -       n       -       -       error
anvil     unix  -       -       n       -       1       anvil
scache    unix  -       -       n       -       1       scache
postlog   unix-dgram n  -       n       -       1       postlogd
`;

/**
 * Starts one, with a server for each entry of `services`, whose settings stand above those of Postfix; `main` holds for all of its
 * programs. Needs root.
 */
export async function startPostfix(
  hops: NextHops,
  services: Readonly<Record<string, Settings>>,
  main: Settings = {},
): Promise<Postfix> {
  const directory = serverDirectory('postfix');
  const configuration = join(directory, 'etc');
  for (const name of [configuration, join(directory, 'queue')]) mkdirSync(name);
  const ports = new Map<string, number>();
  for (const name of Object.keys(services)) ports.set(name, await freePort());
  writeFileSync(join(configuration, 'main.cf'), lines({ ...mainSettings(directory, hops), ...main }));
  const servers = Object.entries(services).map(([name, settings]) => server(ports.get(name), settings));
  writeFileSync(join(configuration, 'master.cf'), SERVICES + servers.join(''));
  const [port = 0] = ports.values();
  const running = await runPostfix(directory, configuration, port);
  return {
    urls: Object.fromEntries([...ports].map(([name, at]) => [name, `smtp://127.0.0.1:${at}`])),
    stop: () => running.stop(),
  };
}

/** Runs the Postfix whose main.cf and master.cf are in `configuration`. */
export function runPostfix(directory: string, configuration: string, port: number): Promise<ServerProcess> {
  const command = executableOf('postfix');
  return startServerProcess({
    command,
    directory,
    port,
    args: ['-c', configuration, 'start-fg'],
    // Its master is in a session of its own.
    end: () => execFileSync(command, ['-c', configuration, 'stop']),
  });
}

export const lines = (settings: Settings): string =>
  Object.entries(settings)
    .map(([name, value]) => `${name} = ${value}\n`)
    .join('');

const server = (port: number | undefined, settings: Settings): string =>
  `127.0.0.1:${port} inet n - n - - smtpd\n${Object.entries(settings)
    .map(([name, value]) => `  -o { ${name} = ${value} }\n`)
    .join('')}`;
