import { Inject, Injectable } from '@nestjs/common';
import { LRUCache } from 'lru-cache';
import { type HostOwner, publicHostOf, TrackingHostsQuery } from '#deliverability';
import { Clock, hostName } from '#kernel';
import { type Config, CONFIG } from '#platform';

/** A host that changed hands is served as such after this long at most, and a new one after a shorter while. */
const OWNED_MS = 30_000;
const UNKNOWN_MS = 5_000;
const KEPT = 10_000;
const PORT = /:\d+$/;
/** Of a host name with its port. */
const LONGEST = 260;

interface Known {
  readonly owner: HostOwner | null;
  readonly until: number;
}

/** Whose the hosts are by which requests come. Looked up once in a while; hosts without a dot and addresses never. */
@Injectable()
export class KnownHosts {
  readonly #known = new LRUCache<string, Known>({ max: KEPT });
  readonly #ownAuthority: string;
  readonly #ownHost: string;

  constructor(
    private readonly hosts: TrackingHostsQuery,
    private readonly clock: Clock,
    @Inject(CONFIG) config: Pick<Config, 'PUBLIC_URL'>,
  ) {
    this.#ownAuthority = new URL(config.PUBLIC_URL).host;
    this.#ownHost = publicHostOf(config);
  }

  /** By a Host header. Null: no customer's, so that it is served like PUBLIC_URL; undefined: has to be looked up. */
  atHand(header: string | undefined): HostOwner | null | undefined {
    if (header === undefined || header === this.#ownAuthority || header.length > LONGEST) return null;
    const known = this.#known.get(header);
    return known === undefined || known.until <= this.clock.now().getTime() ? undefined : known.owner;
  }

  async find(header: string | undefined): Promise<HostOwner | null> {
    const atHand = this.atHand(header);
    if (atHand !== undefined || header === undefined) return atHand ?? null;
    const host = hostName(header.replace(PORT, '').replace(/\.$/, ''));
    const owner = host === null || host === this.#ownHost ? null : await this.hosts.ownerOf(host);
    const until = this.clock.now().getTime() + (owner === null ? UNKNOWN_MS : OWNED_MS);
    this.#known.set(header, { owner, until });
    return owner;
  }

  /** Whether a certificate for the host is wanted. */
  async isServed(host: string): Promise<boolean> {
    if (host.toLowerCase() === this.#ownHost) return true;
    return (await this.find(host.toLowerCase()))?.isVerified ?? false;
  }
}
