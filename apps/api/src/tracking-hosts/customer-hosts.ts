import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { HostOwner } from '#deliverability';
import { environmentIdOf, type LinkKind, LinkTokens, TrackingTokens } from '#platform';
import { ProblemError } from '#platform/http';
import { notFoundPage } from '../public-pages/not-found-page.js';
import { sendPage } from '../public-pages/page-reply.js';
import { viewOf } from '../public-pages/page-view.js';
import { KnownHosts } from './known-hosts.service.js';

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
/** Asked by load balancers, by whatever name, and above all when the database does not answer. */
const HEALTH = '/health/';

/**
 * Below a customer's host there are only the paths of its own mails: not the API, and no page of another project. Register
 * it before the hooks that look at keys.
 */
export function keepCustomerHostsApart(app: NestFastifyApplication): void {
  const hosts = app.get(KnownHosts);
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
  const [, letter = '', token = ''] = PATH.exec(url) ?? [];
  const kind = KINDS[letter];
  if (kind === undefined) return false;
  const environmentId =
    kind === null
      ? trackedEnvironment(tokens.tracking, token)
      : tokens.link.verify(token, kind)?.environmentId;
  return environmentId !== undefined && environmentIds.includes(environmentId);
}

/** Of a tracked link or a pixel that is ours. */
export function trackedEnvironment(tokens: TrackingTokens, token: string): number | undefined {
  const claims = tokens.verifyBytes(token);
  return claims === null ? undefined : environmentIdOf(claims);
}

function refuse(request: FastifyRequest, reply: FastifyReply): void {
  void reply.header('x-request-id', request.id).header('cache-control', 'no-store');
  if (!PATH.test(request.url)) throw new ProblemError('not-found', { detail: 'There is no such path.' });
  sendPage(reply, notFoundPage(viewOf(request)));
}
