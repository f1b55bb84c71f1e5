import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { freePort } from '#testing/programs/ports';
import { executableOf } from '../parts.js';
import type { Mta, NextHops } from './mta.js';
import { serverDirectory, startServerProcess } from './server-process.js';

/**
 * Starts one. Its queue and its socket have their places compiled in (/var/spool/smtpd, /var/run/smtpd.sock), so there can be
 * one on a machine. Needs root, the users opensmtpd and opensmtpq, and /var/lib/opensmtpd/empty.
 */
export async function startOpensmtpd({ everywhere, byDomain }: NextHops, unknown: string): Promise<Mta> {
  const directory = serverDirectory('opensmtpd');
  const port = await freePort();
  const elsewhere = Object.entries(byDomain);
  const actions = [['everywhere', everywhere] as const, ...elsewhere];
  const file = join(directory, 'configuration');
  writeFileSync(
    file,
    [
      `listen on 127.0.0.1 port ${port} hostname mta.test`,
      ...actions.map(([name, to]) => `action "${name}" relay host smtp://127.0.0.1:${to}`),
      `match from any for rcpt-to "${unknown}" reject`,
      ...elsewhere.map(([domain]) => `match from any for domain "${domain}" action "${domain}"`),
      'match from any for any action "everywhere"',
      '',
    ].join('\n'),
  );
  const args = ['-d', '-f', file];
  const running = await startServerProcess({ command: executableOf('opensmtpd'), args, port, directory });
  return {
    url: `smtp://127.0.0.1:${port}`,
    stop: () => running.stop(),
  };
}
