import { pipeline } from 'node:stream';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import type { FastifyInstance, FastifyReply, FastifyRequest } from 'fastify';
import type { Logger } from 'pino';
import { UnavailableError } from '#kernel';
import type { Config } from '../config.js';
import { logContext } from '../logger.js';
import { HttpMetrics } from '../metrics.js';
import { OPERATIONS_PATHS } from '../operations.js';
import { CONFIG, LOGGER } from '../platform.module.js';
import { RequestLog } from '../audit/request-log.js';
import { beginSpan, readTraceparent, type Span, withinSpan } from '../tracing.js';
import { RequestAudit } from './audit.hook.js';
import { registerBodyParsers } from './body-parsers.js';
import { clientAddressReader, connectingAddress, keepConnectingAddress } from './client-address.js';
import { Draining, leaveUnread } from './connections.js';
import { AccessHook } from './guards/access.hook.js';
import { IdempotencyGuard } from './guards/idempotency.guard.js';
import { RateLimitGuard } from './guards/rate-limit.guard.js';
import { ignoreUnknownExpectations, refuseWithoutHost } from './http-adapter.js';
import { LargeTextFilter } from './large-texts.js';
import { fieldsSelector, takesFields } from './operation/answer-fields.js';
import { ApiKeyAuthenticator } from './operation/caller.js';
import { API_PREFIX, isForOperator, prefixOf } from './operation/operation.decorator.js';
import { isPage, linkHeader, markNext, unmarkCursor } from './operation/pagination.js';
import { ProblemFilter } from './operation/problem.filter.js';
import { RouteTable } from './operation/route-table.js';
import { RequestValidationPipe } from './operation/validation.js';

declare module 'fastify' {
  interface FastifyRequest {
    deadline: NodeJS.Timeout | null;
    /** Null where it is not traced. */
    span: Span | null;
  }
}

/**
 * Makes an application that imports `HttpKitModule` obey the contract's common rules. Called once, before `init`; an
 * `ApiKeyAuthenticator` must be among the providers.
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
  registerDeadlines(fastify, app);
  registerTraces(fastify, app.get<Config>(CONFIG));
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
  fastify.decorateRequest('problem', null);
  fastify.decorateRequest('auditTrail', null);
  fastify.decorateRequest('isCounted', false);
  fastify.decorateRequest('rawBody', null);
  fastify.decorateRequest('bodyFault', null);
  fastify.decorateRequest('largeTexts', null);
  fastify.decorateRequest('bodyHash', null);
  fastify.decorateRequest('idempotentRun', null);
  fastify.decorateRequest('deadline', null);
  fastify.decorateRequest('span', null);
}

function registerRoutes(fastify: FastifyInstance, routes: RouteTable): void {
  fastify.addHook('onRoute', (route) => {
    const maxBodyBytes = route.config?.operation?.maxBodyBytes;
    if (maxBodyBytes !== undefined) route.bodyLimit = maxBodyBytes;
    routes.add(route);
  });
}

/** A body that is streamed may take its time to arrive. */
const STREAMED_MS = 600_000;

/**
 * Answers with 503 a request that takes too long from its first byte to its answer. Fastify's own `handlerTimeout` ends with the
 * body: it stops its timer when the request stream closes.
 */
function registerDeadlines(fastify: FastifyInstance, app: NestFastifyApplication): void {
  const [problems, idempotency] = [app.get(ProblemFilter), app.get(IdempotencyGuard)];
  const { REQUEST_TIMEOUT_MS } = app.get<Config>(CONFIG);
  const stop = ({ deadline }: FastifyRequest): void => {
    if (deadline !== null) clearTimeout(deadline);
  };
  fastify.addHook('onRequest', (request, reply, done) => {
    const { operation } = request.routeOptions.config;
    const usualMs = operation?.streams === undefined ? REQUEST_TIMEOUT_MS : STREAMED_MS;
    request.deadline = setTimeout(() => {
      if (reply.sent) return;
      idempotency.timedOut(request);
      problems.answer(new UnavailableError('The request took too long.', 1), request, reply);
    }, operation?.timeoutMs ?? usualMs);
    done();
  });
  fastify.addHook('onSend', (request, _reply, payload, done) => {
    stop(request);
    done(null, payload);
  });
  fastify.addHook('onRequestAbort', (request, done) => {
    stop(request);
    done();
  });
  fastify.addHook('onResponse', (request, _reply, done) => {
    stop(request);
    done();
  });
}

/** Has a span for each request but those of probes. */
function registerTraces(fastify: FastifyInstance, { TRUST_TRACEPARENT }: Config): void {
  fastify.addHook('onRequest', (request, _reply, done) => {
    const { id, method, headers, routeOptions } = request;
    const { url: route } = routeOptions;
    if (route !== undefined && PROBES.has(route)) return done();
    const given = readTraceparent(headers['traceparent']);
    request.span = beginSpan({
      name: route === undefined ? method : `${method} ${route}`,
      kind: 'server',
      ...(TRUST_TRACEPARENT ? { parent: given } : { parent: null, link: given }),
      attributes: { 'http.request.method': method, 'http.route': route, 'mailwright.request_id': id },
    });
    done();
  });
  fastify.addHook('onRequestAbort', ({ span }, done) => {
    span?.fail('aborted');
    span?.end();
    done();
  });
  fastify.addHook('onResponse', ({ span, caller, problem }, { statusCode }, done) => {
    span?.set({
      'http.response.status_code': statusCode,
      'mailwright.environment_id': caller?.scope.environmentId,
      'mailwright.reason': problem,
    });
    if (statusCode >= 500) span?.fail(problem ?? String(statusCode));
    span?.end();
    done();
  });
}

/** Finds out who calls before the body is read; `HttpKitModule` has the guards, which come after it. */
function registerRequestHooks(fastify: FastifyInstance, app: NestFastifyApplication): void {
  const access = new AccessHook(
    app.get(ApiKeyAuthenticator, { strict: false }),
    app.get(RateLimitGuard),
    app.get(RouteTable),
  );
  fastify.decorate('admitUnread', (request, reply) => access.admitUnread(request, reply));
  fastify.addHook('onRequest', (request, reply, done) => {
    void reply.header('x-request-id', request.id);
    if (isOfApi(request)) void reply.header('cache-control', 'no-store');
    inContext(request, done);
  });
  fastify.addHook('onRequest', async (request, reply) => {
    refuseWithoutHost(request);
    await access.admit(request, reply);
  });
  fastify.addHook('preParsing', (request, _reply, payload, done) => {
    const { largeTexts, maxBodyBytes } = request.routeOptions.config.operation ?? {};
    if (largeTexts === undefined || maxBodyBytes === undefined) return done(null, payload);
    request.largeTexts = new LargeTextFilter(largeTexts, maxBodyBytes);
    // Its reader is told of what breaks off.
    done(
      null,
      pipeline(payload, request.largeTexts, () => undefined),
    );
  });
  // Reading the body has left the context of onRequest.
  const audit = app.get(RequestAudit);
  fastify.addHook('preHandler', (request, _reply, done) => {
    const query = request.query as Record<string, unknown>;
    if (typeof query['after'] === 'string') query['after'] = unmarkCursor(query['after'], request.url);
    inContext(request, () => audit.begin(request, done));
  });
}

/** Also where a part of the prefix is percent-encoded. */
function isOfApi({ url, routeOptions }: FastifyRequest): boolean {
  return (
    url.startsWith(`${API_PREFIX}/`) || isForOperator(url) || routeOptions.config.operation !== undefined
  );
}

function inContext(request: FastifyRequest, done: () => void): void {
  withinSpan(request.span, () => logContext.run({ requestId: request.id }, done));
}

function registerReplyHooks(fastify: FastifyInstance, app: NestFastifyApplication): void {
  const [idempotency, rateLimit] = [app.get(IdempotencyGuard), app.get(RateLimitGuard)];
  const [logger, metrics] = [app.get<Logger>(LOGGER), app.get(HttpMetrics)];
  const [draining, audit, requestLog] = [app.get(Draining), app.get(RequestAudit), app.get(RequestLog)];
  const { PUBLIC_URL } = app.get<Config>(CONFIG);
  fastify.addHook('preSerialization', (request, reply, payload, done) => {
    const { operation } = request.routeOptions.config;
    selectFields(request, reply);
    const response = operation?.response;
    const isNew = response?.isNew?.(payload) === true;
    if (isNew) void reply.status(201);
    if (response?.isPartial?.(payload) === true) void reply.status(200);
    const location = response?.isNew === undefined || isNew ? response?.location?.(payload) : undefined;
    if (location !== undefined)
      void reply.header('location', `${prefixOf(request.routeOptions.url ?? '')}/${location}`);
    if (operation === undefined || !isPage(payload)) return done(null, payload);
    const page = markNext(payload, request.url);
    const links = linkHeader(PUBLIC_URL, request.url, page.pagination);
    if (links !== '') void reply.header('link', links);
    done(null, page);
  });
  fastify.addHook('preClose', (done) => {
    draining.begin();
    done();
  });
  fastify.addHook('onSend', async (request, reply, payload) => {
    addSecurityHeaders(reply);
    // A connection that is kept would hold up the end of the process.
    if (draining.isOn) void reply.header('connection', 'close');
    leaveUnread(request.raw, reply.raw);
    // Answered before the guards, such as a body that is too large.
    if (request.caller !== null && !request.isCounted)
      await rateLimit.checkUnrouted(request, reply).catch(() => undefined);
    await audit.end(request, reply);
    await idempotency.end(request, reply, payload);
    return payload;
  });
  fastify.addHook('onResponse', (request, reply, done) => {
    logAnswer(logger, metrics, request, reply);
    requestLog.add(request, reply);
    done();
  });
}

/** Leaves of the answer the fields that the query names; throws when there are no such ones. */
function selectFields({ method, query, routeOptions }: FastifyRequest, reply: FastifyReply): void {
  const { operation } = routeOptions.config;
  const { fields } = query as { readonly fields?: string };
  if (operation?.response.schema === undefined || fields === undefined) return;
  if (!takesFields(method, operation)) return;
  const select = fieldsSelector(operation.response.schema, fields);
  const status = String(operation.response.status);
  void reply.serializer((answer: Record<string, unknown>) =>
    JSON.stringify(select(JSON.parse(String(reply.serializeInput(answer, status))))),
  );
}

/** Policy of pages: nothing but images is loaded, no script runs, forms are posted to us alone, no frame holds them. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Security headers of the answer; one that the handler has set stays. */
function addSecurityHeaders(reply: FastifyReply): void {
  const setDefault = (name: string, value: string): void => {
    if (!reply.hasHeader(name)) void reply.header(name, value);
  };
  setDefault('x-content-type-options', 'nosniff');
  if (!String(reply.getHeader('content-type') ?? '').startsWith('text/html')) return;
  setDefault('content-security-policy', PAGE_POLICY);
  // A token in the address must not travel on.
  setDefault('referrer-policy', 'no-referrer');
}

const NO_ROUTE = '(none)';
const PROBES: ReadonlySet<string> = new Set(OPERATIONS_PATHS);

/** One line and one count for each request. The route's pattern stands for the path, which may hold an address. */
function logAnswer(logger: Logger, metrics: HttpMetrics, request: FastifyRequest, reply: FastifyReply): void {
  const { id: requestId, method, caller } = request;
  const route = request.routeOptions.url ?? NO_ROUTE;
  const status = reply.statusCode;
  const ms = Math.round(reply.elapsedTime * 10) / 10;
  metrics.answered(method, route, status, ms / 1000);
  const { keyId, scope } = caller ?? {};
  const fields = { requestId, method, route, status, ms, keyId, environmentId: scope?.environmentId };
  if (PROBES.has(route)) logger.debug(fields, 'request');
  else logger.info(fields, 'request');
}
