import { readFileSync, writeFileSync } from 'node:fs';
import { request } from 'node:https';
import { join } from 'node:path';
import { eventually } from '#testing/time/eventually';
import { freePort } from '#testing/programs/ports';
import { executableOf } from '../parts.js';
import { serverDirectory, type ServerProcess, startServerProcess } from './server-process.js';

export interface Visited {
  readonly status: number;
  readonly location: string | undefined;
  readonly body: string;
}

/** A caddy with certificates by its own authority. */
export interface Caddy extends ServerProcess {
  /** As a browser does that finds the address's host here, and trusts the authority. Rejects without a handshake. */
  visit(url: string, method?: string): Promise<Visited>;
}

/** Starts it with a Caddyfile whose global options are its first block. */
export async function startCaddy(caddyfile: string): Promise<Caddy> {
  const directory = serverDirectory('caddy');
  const [port, httpPort] = [await freePort(), await freePort()];
  const options = `{
    admin off
    default_bind 127.0.0.1
    https_port ${port}
    http_port ${httpPort}
    skip_install_trust
    local_certs
    servers {
      protocols h1 h2
    }`;
  const config = join(directory, 'Caddyfile');
  writeFileSync(
    config,
    caddyfile.replace('{', options).replaceAll('on_demand\n', 'on_demand\nissuer internal\n'),
  );
  const home = [`HOME=${directory}`, `XDG_CONFIG_HOME=${directory}`, `XDG_DATA_HOME=${directory}`];
  const process = await startServerProcess({
    command: 'env',
    args: [...home, executableOf('caddy'), 'run', '--config', config, '--adapter', 'caddyfile'],
    port,
    directory,
  });
  const root = join(directory, 'caddy', 'pki', 'authorities', 'local', 'root.crt');
  const ca = await eventually('the authority is there', () => {
    try {
      return readFileSync(root);
    } catch {
      return null;
    }
  });
  return { ...process, visit: (url, method = 'GET') => visit(new URL(url), { port, ca, method }) };
}

function visit(
  url: URL,
  { port, ca, method }: { readonly port: number; readonly ca: Buffer; readonly method: string },
): Promise<Visited> {
  const { hostname: servername, pathname, search } = url;
  const headers = { host: servername, 'user-agent': 'Mozilla/5.0', accept: '*/*' };
  const options = { host: '127.0.0.1', port, servername, ca, method, headers, path: pathname + search };
  return new Promise((resolve, reject) => {
    const asked = request({ ...options, agent: false }, (answer) => {
      let body = '';
      answer.setEncoding('utf8').on('data', (chunk: string) => (body += chunk));
      const { statusCode: status = 0, headers: got } = answer;
      answer.on('end', () => resolve({ status, location: got.location, body }));
    });
    asked.on('error', reject).end();
  });
}
