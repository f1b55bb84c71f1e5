import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#testing/programs/ports';
import { executableOf } from '../parts.js';
import type { Mta, NextHops } from './mta.js';
import { serverDirectory, startServerProcess } from './server-process.js';

/** Next hop of some mail: the domains, and the name and port of the transport. */
interface Hop {
  readonly name: string;
  readonly domains: string;
  readonly port: number;
}

const router = ({ name, domains }: Hop): string => `
${name}:
  driver = manualroute
  domains = ${domains}
  transport = ${name}
  route_list = * 127.0.0.1
  self = send
`;

const transport = ({ name, port }: Hop): string => `
${name}:
  driver = smtp
  port = ${port}
  allow_localhost
  hosts_avoid_tls = *
`;

/**
 * The shortest with which it takes mail from this machine, as Debian's does otherwise. What comes over one connection is all
 * handed on at once: by default its queue runner does so with all but ten, minutes later on a busy machine.
 */
const configuration = (directory: string, hops: readonly Hop[], unknown: string): string => `
primary_hostname = mta.test
exim_path = ${executableOf('exim')}
spool_directory = ${directory}
log_file_path = ${directory}/%slog
pid_file_path = ${directory}/pid
local_interfaces = 127.0.0.1
disable_ipv6
keep_environment =
smtputf8_advertise_hosts = *
smtp_accept_queue_per_connection = 0
acl_smtp_rcpt = rcpt

begin acl
rcpt:
  deny message = Unknown user
       recipients = ${unknown}
  accept hosts = 127.0.0.1

begin routers
${hops.map(router).join('')}
begin transports
${hops.map(transport).join('')}
begin retry
* * F,1h,10s
`;

/** Starts one that refuses the recipient `unknown`. Needs root and the user Debian-exim. */
export async function startExim({ everywhere, byDomain }: NextHops, unknown: string): Promise<Mta> {
  const directory = serverDirectory('exim');
  const elsewhere = Object.entries(byDomain).map(([domains, port], at) => ({
    name: `elsewhere${at}`,
    domains,
    port,
  }));
  const hops = [...elsewhere, { name: 'everywhere', domains: '*', port: everywhere }];
  const file = join(directory, 'configuration');
  writeFileSync(file, configuration(directory, hops, unknown));
  const port = await freePort();
  const args = ['-C', file, '-bdf', '-oX', String(port), '-q10s'];
  const running = await startServerProcess({ command: executableOf('exim'), args, port, directory });
  return {
    // It makes itself a certificate.
    url: `smtp://127.0.0.1:${port}?rejectUnauthorized=false`,
    stop: () => running.stop(),
  };
}
