import { once } from 'node:events';
import { createServer, type Server } from 'node:net';
import { afterEach, describe, expect, it } from '@jest/globals';
import { holdPort, isFree } from './ports.js';

const servers: Server[] = [];

afterEach(() => {
  for (const server of servers.splice(0)) server.close();
});

async function occupied(host: string): Promise<number> {
  const server = createServer().listen(0, host);
  servers.push(server);
  await once(server, 'listening');
  const address = server.address();
  return typeof address === 'object' && address !== null ? address.port : 0;
}

async function chosen(...choice: Parameters<typeof holdPort>): Promise<number> {
  const { port, release } = await holdPort(...choice);
  await release();
  return port;
}

describe('ports', () => {
  it('takes the port that was asked for', async () => {
    const port = await chosen('the API', { preferred: [] });
    expect(await chosen('the API', { wanted: port, preferred: [] })).toBe(port);
  });

  it('says so when the port that was asked for is taken', async () => {
    const taken = await occupied('127.0.0.1');
    await expect(holdPort('the API', { wanted: taken, preferred: [] })).rejects.toThrow(
      `Port ${taken}, asked for as the port of the API, is taken`,
    );
  });

  it.each([undefined, 0, 4790])(
    'says so when the host is another machine’s, with the port %p',
    async (wanted) => {
      await expect(holdPort('the API', { wanted, preferred: [3000], host: '192.0.2.1' })).rejects.toThrow(
        'HOST is 192.0.2.1, which is no address of this machine.',
      );
    },
  );

  it('goes to the next port when one is taken, and to any when all are', async () => {
    const taken = await occupied('127.0.0.1');
    const free = await chosen('the API', { preferred: [] });
    expect(await chosen('the API', { preferred: [taken, free] })).toBe(free);
    const any = await chosen('the API', { preferred: [taken] });
    expect(any).not.toBe(taken);
    expect(await isFree(any)).toBe(true);
  });

  it('takes a free one for 0, not the usual one', async () => {
    const usual = await chosen('the API', { preferred: [] });
    expect(await chosen('the API', { wanted: 0, preferred: [usual] })).not.toBe(usual);
  });

  it('keeps a port from others until its server starts', async () => {
    const first = await holdPort('the API', { preferred: [] });
    const second = await holdPort('the API', { preferred: [first.port] });
    expect(second.port).not.toBe(first.port);
    await Promise.all([first.release(), second.release()]);
    expect(await isFree(first.port)).toBe(true);
  });

  it('counts a port as taken when localhost would mean another program', async () => {
    const port = await occupied('::1').catch(() => undefined);
    if (port !== undefined) expect(await isFree(port)).toBe(false);
    expect(await isFree(await occupied('0.0.0.0'))).toBe(false);
  });
});
