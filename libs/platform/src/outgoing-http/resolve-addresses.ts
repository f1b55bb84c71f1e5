import { lookup, Resolver } from 'node:dns/promises';
import type { AddressesOf } from './guarded-lookup.js';

/** By the given DNS servers (`host:port`), or as the machine itself resolves names when there are none. */
export function addressResolver(servers: readonly string[]): AddressesOf {
  if (servers.length === 0)
    return async (host) => (await lookup(host, { all: true })).map(({ address }) => address);
  const resolver = new Resolver({ timeout: 2_000, tries: 2 });
  resolver.setServers(servers);
  return async (host) => {
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)]);
    const found = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []));
    const [failed] = answers.flatMap((answer) => (answer.status === 'rejected' ? [answer.reason] : []));
    if (found.length === 0 && failed !== undefined) throw failed;
    return found;
  };
}
