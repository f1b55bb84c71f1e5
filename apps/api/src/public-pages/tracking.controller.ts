import type { IncomingHttpHeaders, IncomingMessage, ServerResponse } from 'node:http';
import { Get, Param, Req, Res } from '@nestjs/common';
import type { NestFastifyApplication } from '@nestjs/platform-fastify';
import { SkipThrottle } from '@nestjs/throttler';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { type TrackedRequest, TrackingService } from '#messaging';
import { HttpMetrics, TrackingTokens } from '#platform';
import { Draining, requestIdOf } from '#platform/http';
import { CustomerHostsService, trackedEnvironment } from './customer-hosts.service.js';
import { viewOf } from './page-view.js';
import {
  notFoundPage,
  PRIVATE_HEADERS,
  PublicPage,
  sendImage,
  sendPage,
  sendRedirect,
} from './public-page.js';

/** The headers of prefetches: Sec-Purpose of the Fetch Standard, and its predecessors. */
const PURPOSES = ['sec-purpose', 'purpose', 'x-purpose', 'x-moz'] as const;
const AHEAD = /prefetch|preview/i;

/** The facts of a request that tell people from machines. */
function trackedRequestOf(method: string, headers: IncomingHttpHeaders): TrackedRequest {
  return {
    method,
    userAgent: headers['user-agent'],
    isPrefetch: PURPOSES.some((name) => isAhead(headers[name])),
  };
}

function isAhead(purpose: string | string[] | undefined): boolean {
  return purpose !== undefined && AHEAD.test(String(purpose));
}

/** A transparent GIF of one pixel (GIF89a). */
const PIXEL = Buffer.from('R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7', 'base64');

/** The tracking pixel at the end of a mail. */
@PublicPage('o')
@SkipThrottle()
export class OpenPixelController {
  constructor(private readonly tracking: TrackingService) {}

  @Get(':token')
  open(@Param('token') token: string, @Req() request: FastifyRequest, @Res() reply: FastifyReply): void {
    if (this.tracking.open(token, trackedRequestOf(request.method, request.headers))) {
      sendImage(reply, PIXEL, 'image/gif');
    } else sendPage(reply, notFoundPage(viewOf(request)));
  }
}

/** A tracked link of a mail: redirects to its signed target only. */
@PublicPage('l')
@SkipThrottle()
export class TrackedLinkController {
  constructor(private readonly tracking: TrackingService) {}

  @Get(':token')
  async follow(
    @Param('token') token: string,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const url = await this.tracking.follow(token, trackedRequestOf(request.method, request.headers));
    if (url === null) sendPage(reply, notFoundPage(viewOf(request)));
    else sendRedirect(reply, url);
  }
}

const LINK = '/l/';
const PIXELS = '/o/';
const PREFIX_LENGTH = LINK.length;
const TOKEN_LENGTH = 56;
const FIXED_HEADERS = Object.entries(PRIVATE_HEADERS).flat();

/**
 * Answers pixels and tracked links before Fastify sees them, when no look-up is needed: the most frequent requests by far.
 * Forged, mangled and uncached links go to the controllers. Call it once, before `listen`.
 */
export function answerTrackedRequests(app: NestFastifyApplication): void {
  const own = {
    tracking: app.get(TrackingService),
    hosts: app.get(CustomerHostsService),
    tokens: app.get(TrackingTokens),
  };
  const metrics = app.get(HttpMetrics);
  const tallies = { link: talliesOf(metrics, '/l/:token', 302), pixel: talliesOf(metrics, '/o/:token', 200) };
  const draining = app.get(Draining);
  const { server } = app.getHttpAdapter().getInstance();
  const others = server.listeners('request');
  let answered = 0;
  const prefix = `${process.pid.toString(36)}-${Date.now().toString(36)}-`;
  const newRequestId = () => {
    answered += 1;
    return prefix + answered.toString(36);
  };
  server.removeAllListeners('request');
  server.on('request', (request: IncomingMessage, response: ServerResponse) => {
    // During shutdown, let Fastify's hooks close the connections with their answers.
    const reply = server.listening && !draining.isOn ? replyTo(request, own) : null;
    if (reply === null) {
      for (const listener of others) Reflect.apply(listener, server, [request, response]);
      return;
    }
    const id = requestIdOf(request, newRequestId);
    response
      .writeHead(reply.status, [...reply.headers, ...FIXED_HEADERS, 'x-request-id', id])
      .end(reply.body, 'latin1');
    tallies[reply.route][request.method === 'HEAD' ? 'HEAD' : 'GET'].add();
  });
}

interface Reply {
  readonly route: 'link' | 'pixel';
  readonly status: 200 | 302;
  readonly headers: readonly string[];
  /** One character for each byte: Node writes text in one piece with the headers, but a buffer separately. */
  readonly body?: string;
}

const PIXEL_REPLY: Reply = {
  route: 'pixel',
  status: 200,
  headers: ['content-type', 'image/gif', 'content-length', String(PIXEL.length)],
  body: PIXEL.toString('latin1'),
};

interface Own {
  readonly tracking: TrackingService;
  readonly hosts: CustomerHostsService;
  readonly tokens: TrackingTokens;
}

/** Null when a controller has to answer. */
function replyTo(request: IncomingMessage, { tracking, ...own }: Own): Reply | null {
  const { method, url = '', headers } = request;
  if (method !== 'GET' && method !== 'HEAD') return null;
  if (headers['content-length'] !== undefined || headers['transfer-encoding'] !== undefined) return null;
  const isLink = url.startsWith(LINK);
  if (!isLink && !url.startsWith(PIXELS)) return null;
  const end = PREFIX_LENGTH + TOKEN_LENGTH;
  if (url.length !== end && url[end] !== '?') return null;
  const token = url.slice(PREFIX_LENGTH, end);
  if (!isOfHost(headers.host, token, own)) return null;
  const tracked = trackedRequestOf(method, headers);
  if (!isLink) return tracking.open(token, tracked) ? PIXEL_REPLY : null;
  const target = tracking.followAtOnce(token, tracked);
  if (target === null) return null;
  return { route: 'link', status: 302, headers: ['location', target, 'content-length', '0'] };
}

/** True where the mail may come by this host, as far as is known without a look-up. */
function isOfHost(
  host: string | undefined,
  token: string,
  { hosts, tokens }: Omit<Own, 'tracking'>,
): boolean {
  const owner = hosts.atHand(host);
  if (owner === null) return true;
  const environmentId = owner === undefined ? undefined : trackedEnvironment(tokens, token);
  return environmentId !== undefined && (owner?.environmentIds.includes(environmentId) ?? false);
}

function talliesOf(metrics: HttpMetrics, route: string, status: number) {
  return { GET: metrics.tally('GET', route, status), HEAD: metrics.tally('HEAD', route, status) };
}
