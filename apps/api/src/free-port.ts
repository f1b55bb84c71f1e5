import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Config } from '#platform';

/**
 * The configuration with a real port. The public URL is part of links and problems from the first request
 * on, so a free port is looked for before anything is built, not by listening on port 0.
 */
export async function withRealPort(config: Config): Promise<Config> {
  if (config.PORT !== 0) return config;
  const port = await freePort(config.HOST);
  const isDefaultUrl = config.PUBLIC_URL === 'http://localhost:0';
  return { ...config, PORT: port, PUBLIC_URL: isDefaultUrl ? `http://localhost:${port}` : config.PUBLIC_URL };
}

async function freePort(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  server.close();
  await once(server, 'close');
  return port;
}
