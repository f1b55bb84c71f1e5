import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Config } from '../config/config.js';
import { logContext } from '../logging/request-context.js';
import { CONFIG } from '../platform.module.js';
import { AccessHook } from './authentication/access.hook.js';
import { ApiKeyAuthenticator } from './authentication/api-key-authenticator.js';
import {
  clientAddressReader,
  connectingAddress,
  keepConnectingAddress,
} from './authentication/trusted-proxy.js';
import { IdempotencyGuard } from './idempotency/idempotency.guard.js';
import { API_PREFIX } from './operation/api-controller.decorator.js';
import { isPage, linkHeader } from './pagination/link-header.js';
import type { Pagination } from './pagination/page.js';
import { registerBodyParsers } from './parsing/body-parsers.js';
import { ProblemFilter } from './problems/problem.filter.js';
import { RateLimitGuard } from './rate-limit/rate-limit.guard.js';
import { RouteTable } from './routing/route-table.js';
import { Deadline } from './server/deadline.js';
import { Draining } from './server/draining.js';
import { RequestLog } from './server/request-log.js';
import { ignoreUnknownExpectations, refuseWithoutHost } from './server/request-form.js';
import { addSecurityHeaders } from './server/response-headers.js';
import { leaveUnread } from './server/unread-body.js';
import { RequestValidationPipe } from './validation/request-validation.pipe.js';

/**
 * Makes an application that imports `HttpKitModule` obey the contract's common rules. Called once, before
 * `init`; an `ApiKeyAuthenticator` must be among the providers.
 */
export function useHttpKit(app: NestFastifyApplication): void {
  const fastify: FastifyInstance = app.getHttpAdapter().getInstance();
  app.useGlobalPipes(new RequestValidationPipe());
  app.useGlobalFilters(app.get(ProblemFilter));
  decorateRequests(fastify, app.get<Config>(CONFIG));
  registerBodyParsers(fastify);
  ignoreUnknownExpectations(fastify.server);
  fastify.server.on('connection', keepConnectingAddress);
  registerRoutes(fastify, app.get(RouteTable));
  registerRequestHooks(fastify, app);
  registerReplyHooks(fastify, app);
}

function decorateRequests(fastify: FastifyInstance, { TRUST_PROXY }: Config): void {
  const read = clientAddressReader(TRUST_PROXY);
  fastify.decorateRequest('clientAddress', {
    getter(this: FastifyRequest) {
      return read(connectingAddress(this.socket), this.headers['x-forwarded-for']?.toString());
    },
  });
  fastify.decorateRequest('caller', null);
  fastify.decorateRequest('isCounted', false);
  fastify.decorateRequest('rawBody', null);
  fastify.decorateRequest('bodyFault', null);
  fastify.decorateRequest('bodyHash', null);
  fastify.decorateRequest('idempotentRun', null);
  fastify.decorateRequest('deadline', null);
}

function registerRoutes(fastify: FastifyInstance, routes: RouteTable): void {
  fastify.addHook('onRoute', (route) => {
    const maxBodyBytes = route.config?.operation?.maxBodyBytes;
    if (maxBodyBytes !== undefined) route.bodyLimit = maxBodyBytes;
    routes.add(route);
  });
}

/** Finds out who calls before the body is read; `HttpKitModule` has the guards, which come after it. */
function registerRequestHooks(fastify: FastifyInstance, app: NestFastifyApplication): void {
  const access = new AccessHook(
    app.get(ApiKeyAuthenticator, { strict: false }),
    app.get(RateLimitGuard),
    app.get(RouteTable),
  );
  const deadline = app.get(Deadline);
  fastify.decorate('admitUnread', (request, reply) => access.admitUnread(request, reply));
  fastify.addHook('onRequest', (request, reply, done) => {
    deadline.start(request, reply);
    void reply.header('x-request-id', request.id);
    if (isOfApi(request)) void reply.header('cache-control', 'no-store');
    inContext(request, done);
  });
  fastify.addHook('onRequest', async (request, reply) => {
    refuseWithoutHost(request);
    await access.admit(request, reply);
  });
  // Reading the body has left the context of onRequest.
  fastify.addHook('preHandler', (request, _reply, done) => inContext(request, done));
}

/** Also where a part of the prefix is percent-encoded. */
function isOfApi({ url, routeOptions }: FastifyRequest): boolean {
  return url.startsWith(`${API_PREFIX}/`) || routeOptions.config.operation !== undefined;
}

function registerReplyHooks(fastify: FastifyInstance, app: NestFastifyApplication): void {
  const idempotency = app.get(IdempotencyGuard);
  const rateLimit = app.get(RateLimitGuard);
  const log = app.get(RequestLog);
  const deadline = app.get(Deadline);
  const { PUBLIC_URL } = app.get<Config>(CONFIG);
  fastify.addHook('preSerialization', (request, reply, payload, done) => {
    if (isPage(payload) && request.routeOptions.config.operation !== undefined)
      addLinks(PUBLIC_URL, request, reply, payload);
    done(null, payload);
  });
  const draining = app.get(Draining);
  fastify.addHook('preClose', (done) => {
    draining.begin();
    done();
  });
  fastify.addHook('onSend', async (request, reply, payload) => {
    addSecurityHeaders(reply);
    deadline.stop(request);
    // A connection that is kept would hold up the end of the process.
    if (draining.isOn) void reply.header('connection', 'close');
    leaveUnread(request.raw, reply.raw);
    // Answered before the guards, such as a body that is too large.
    if (request.caller !== null && !request.isCounted)
      await rateLimit.checkUnrouted(request, reply).catch(() => undefined);
    await idempotency.end(request, reply, payload);
    return payload;
  });
  fastify.addHook('onRequestAbort', (request, done) => {
    deadline.stop(request);
    done();
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    deadline.stop(request);
    log.answered(request, reply);
    done();
  });
}

function addLinks(
  publicUrl: string,
  request: FastifyRequest,
  reply: FastifyReply,
  { pagination }: { readonly pagination: Pagination },
): void {
  const links = linkHeader(publicUrl, request.url, pagination);
  if (links !== '') void reply.header('link', links);
}

function inContext(request: FastifyRequest, done: () => void): void {
  logContext.run({ requestId: request.id }, done);
}
