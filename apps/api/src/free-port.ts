import { once } from 'node:events';
import { createServer, type AddressInfo } from 'node:net';
import type { Config } from '#platform';

/** A configuration with a real port, reserved until it is released. */
export interface HeldPort {
  readonly config: Config;
  /** Call it right before listening on the port. Calling it again does nothing. */
  release(): Promise<void>;
}

/**
 * The public URL is part of links and problems from the first request on, so the port must be known before the api is
 * built: listening on port 0 is too late. Building takes seconds, so the port is held until then.
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
