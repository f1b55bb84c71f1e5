import { Controller, Get, Inject, Injectable, Req, Res } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import { LRUCache } from 'lru-cache';
import { type HostOwner, publicHostOf, TrackingHostsQuery } from '#deliverability';
import { Clock, hostName, NotFoundError } from '#kernel';
import { MEDIA_PATH, parseMediaFileName } from '#messaging';
import { type Config, CONFIG, environmentIdOf, type LinkKind, LinkTokens, TrackingTokens } from '#platform';
import { ProblemError } from '#platform/http';
import { viewOf } from './page-view.js';
import { notFoundPage, sendPage } from './public-page.js';

/** A host that changed hands is served as such after this long at most, and a new one after a shorter while. */
const OWNED_MS = 30_000;
const UNKNOWN_MS = 5_000;
const KEPT = 10_000;
const PORT = /:\d+$/;
/** Characters of a host name with its port. */
const LONGEST = 260;

interface Known {
  readonly owner: HostOwner | null;
  readonly until: number;
}

/** Owners of the hosts that requests come by. Looked up once in a while; hosts without a dot and addresses never. */
@Injectable()
export class CustomerHostsService {
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

  /** Known owner of a Host header. Null: no customer's, so that it is served like PUBLIC_URL; undefined: to be looked up. */
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

  /** True where a certificate for the host is wanted. */
  async isServed(host: string): Promise<boolean> {
    if (host.toLowerCase() === this.#ownHost) return true;
    return (await this.find(host.toLowerCase()))?.isVerified ?? false;
  }
}

/** The paths of mails, which a customer's host has; null: a tracked link or a pixel. */
const KINDS: Readonly<Record<string, LinkKind | null>> = {
  c: 'confirm',
  u: 'unsubscribe',
  p: 'preferences',
  v: 'view',
  l: null,
  o: null,
};
const PATH = /^\/([cupvlo])\/([^/?]+)(?:$|\?)/;
const MEDIA = new RegExp(`^/${MEDIA_PATH}/([^/?]+)(?:$|\\?)`);
/** Asked by load balancers, by whatever name, and above all when the database does not answer. */
const HEALTH = '/health/';

/**
 * Below a customer's host there are only the paths of its own mails: not the API, and no page of another project. Register
 * it before the hooks that look at keys.
 */
export function keepCustomerHostsApart(app: NestFastifyApplication): void {
  const hosts = app.get(CustomerHostsService);
  const tokens = { link: app.get(LinkTokens), tracking: app.get(TrackingTokens) };
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  fastify.addHook('onRequest', async (request, reply) => {
    if (request.url.startsWith(HEALTH)) return;
    const owner = await hosts.find(request.headers.host);
    if (owner !== null && !isOwn(request, owner, tokens)) refuse(request, reply);
  });
}

interface Tokens {
  readonly link: LinkTokens;
  readonly tracking: TrackingTokens;
}

function isOwn({ url }: FastifyRequest, { environmentIds }: HostOwner, tokens: Tokens): boolean {
  const [, file] = MEDIA.exec(url) ?? [];
  if (file !== undefined) {
    const media = parseMediaFileName(file);
    return media !== null && environmentIds.includes(media.environmentId);
  }
  const [, letter = '', token = ''] = PATH.exec(url) ?? [];
  const kind = KINDS[letter];
  if (kind === undefined) return false;
  const environmentId =
    kind === null
      ? trackedEnvironment(tokens.tracking, token)
      : tokens.link.verify(token, kind)?.environmentId;
  return environmentId !== undefined && environmentIds.includes(environmentId);
}

/** Environment of a tracked link or a pixel; undefined where it is not ours. */
export function trackedEnvironment(tokens: TrackingTokens, token: string): number | undefined {
  const claims = tokens.verifyBytes(token);
  return claims === null ? undefined : environmentIdOf(claims);
}

function refuse(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
  if (!PATH.test(request.url) && !MEDIA.test(request.url))
    throw new ProblemError('not-found', { detail: 'There is no such path.' });
  sendPage(reply, notFoundPage(viewOf(request)));
}

/** Answers a server with on-demand TLS before it gets a certificate for a host (Caddy: `on_demand_tls`, `ask`). */
@Controller('internal')
@ApiExcludeController()
export class TlsCheckController {
  constructor(private readonly hosts: CustomerHostsService) {}

  @Get('tls-check')
  async check(
    @Req() { query }: FastifyRequest<{ Querystring: { domain?: unknown } }>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { domain } = query;
    if (typeof domain !== 'string' || !(await this.hosts.isServed(domain))) throw new NotFoundError();
    void reply.header('cache-control', 'no-store').type('text/plain').send('A certificate is wanted.');
  }
}
