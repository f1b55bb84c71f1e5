import { isIPv6, type LookupFunction } from 'node:net';
import { callbackify } from 'node:util';
import { OutgoingHttpError } from './outgoing-http.error.js';

/** The addresses of a host name, IPv4 and IPv6. */
export type AddressesOf = (host: string) => Promise<readonly string[]>;

/** Resolves for a connection, and refuses names of which any address is not allowed. */
export class GuardedLookup {
  constructor(
    private readonly addressesOf: AddressesOf,
    private readonly allows: (address: string) => boolean,
  ) {}

  readonly lookup: LookupFunction = (host, options, callback) => {
    this.#resolved(host, (error, addresses) => {
      if (error !== null) return callback(error, []);
      const found = addresses.map((address) => ({ address, family: isIPv6(address) ? 6 : 4 }));
      const [first] = found;
      if (options.all === true) callback(null, found);
      else callback(null, first?.address ?? '', first?.family);
    });
  };

  readonly #resolved = callbackify((host: string) => this.#allowed(host));

  async #allowed(host: string): Promise<readonly string[]> {
    const addresses = await this.#resolve(host);
    if (addresses.length === 0) throw new OutgoingHttpError('resolution', `${host} has no address.`);
    if (!addresses.every(this.allows))
      throw new OutgoingHttpError('address', `${host} leads to an address that is not public.`);
    return addresses;
  }

  async #resolve(host: string): Promise<readonly string[]> {
    try {
      return await this.addressesOf(host);
    } catch (error) {
      throw new OutgoingHttpError('resolution', `${host} cannot be resolved.`, { cause: error });
    }
  }
}
