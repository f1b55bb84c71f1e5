import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Config } from '#platform';

/** A configuration with a real port, which nobody else is given until it is released. */
export interface HeldPort {
  readonly config: Config;
  /** To be called right before the port is listened on; as often as one likes. */
  release(): Promise<void>;
}

/**
 * The public URL is part of links and problems from the first request on, so a free port is looked for before
 * anything is built, not by listening on port 0. It is held meanwhile: building takes seconds, in which each program
 * that asks for any port could be given it.
 */
export async function holdRealPort(config: Config): Promise<HeldPort> {
  if (config.PORT !== 0) return { config, release: () => Promise.resolve() };
  const server = createServer((socket) => socket.destroy()).listen(0, config.HOST);
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const isDefaultUrl = config.PUBLIC_URL === 'http://localhost:0';
  const PUBLIC_URL = isDefaultUrl ? `http://localhost:${port}` : config.PUBLIC_URL;
  return {
    config: { ...config, PORT: port, PUBLIC_URL },
    release: async () => {
      if (!server.listening) return;
      server.close();
      await once(server, 'close');
    },
  };
}
