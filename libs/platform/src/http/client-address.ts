import type { Socket } from 'node:net';
import { addressesIn, parseIpAddress } from '#kernel';
import type { TrustedProxies } from '../config.js';

/** Called for each new connection: once it is reset, its address can be asked for no more. */
export function keepConnectingAddress(socket: Socket): void {
  void socket.remoteAddress;
}

/** Address of a connection that was reset before it could be asked. */
const UNKNOWN = '0.0.0.0';

export function connectingAddress({ remoteAddress }: Pick<Socket, 'remoteAddress'>): string {
  return remoteAddress ?? UNKNOWN;
}

/** The address that a connection and its X-Forwarded-For say a request comes from. */
export type ClientAddressReader = (connecting: string, forwardedFor: string | undefined) => string;

/**
 * Walks X-Forwarded-For from its end, where the connecting proxy has written, past each trusted proxy to the first address that
 * is none: what stands left of it is the client's own words, as is what is no address.
 */
export function clientAddressReader(proxies: TrustedProxies): ClientAddressReader {
  const isTrusted = trustIn(proxies);
  return (connecting, forwardedFor) => {
    let client = parseIpAddress(connecting) ?? connecting;
    const hops = forwardedFor?.split(',') ?? [];
    for (const [hop, text] of hops.toReversed().entries()) {
      const address = isTrusted(client, hop) ? parseIpAddress(text) : null;
      if (address === null) break;
      client = address;
    }
    return client;
  };
}

function trustIn(proxies: TrustedProxies): (address: string, hop: number) => boolean {
  if (typeof proxies === 'boolean') return (_address, hop) => proxies && hop === 0;
  return addressesIn(proxies);
}
