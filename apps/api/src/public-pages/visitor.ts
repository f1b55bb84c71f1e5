import type { FastifyRequest } from 'fastify';

const MAX_USER_AGENT = 500;

/** The visitor of a page, for the consent record. */
export interface Visitor {
  readonly ipAddress: string;
  readonly userAgent: string | null;
}

export function visitorOf(request: FastifyRequest): Visitor {
  return {
    ipAddress: request.clientAddress,
    userAgent: request.headers['user-agent']?.slice(0, MAX_USER_AGENT) ?? null,
  };
}
