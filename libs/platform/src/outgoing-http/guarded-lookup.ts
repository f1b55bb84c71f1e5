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

  readonly #resolved = callbackify((host: string) => this.resolve(host));

  /**
   * Where `host` leads. What has no address and what has one that is not allowed is refused in the same words: nobody
   * learns here which names an inner network knows.
   */
  async resolve(host: string): Promise<readonly string[]> {
    const refusal = `${host} leads to no public address.`;
    let addresses: readonly string[];
    try {
      addresses = await this.addressesOf(host);
    } catch (error) {
      throw new OutgoingHttpError('resolution', refusal, { cause: error });
    }
    if (addresses.length > 0 && addresses.every(this.allows)) return addresses;
    throw new OutgoingHttpError('resolution', refusal);
  }
}
