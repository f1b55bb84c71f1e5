import { lookup } from 'node:dns/promises';
import type { AddressesOf } from './guarded-lookup.js';

/** As the machine itself resolves names: `DNS_SERVERS` are for customers’ records, and may know no host of the operator's. */
export const systemAddresses: AddressesOf = async (host) =>
  (await lookup(host, { all: true })).map(({ address }) => address);
