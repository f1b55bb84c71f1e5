import type { FastifyReply } from 'fastify';

/** The pages load nothing but images, run no script, post only to us, and stand in nobody's frame. */
const PAGE_POLICY =
  "default-src 'none'; style-src 'unsafe-inline'; img-src * data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'";

/** Security headers of the answer; one that the handler has set stays. */
export function addSecurityHeaders(reply: FastifyReply): void {
  setDefault(reply, 'x-content-type-options', 'nosniff');
  if (!String(reply.getHeader('content-type') ?? '').startsWith('text/html')) return;
  setDefault(reply, 'content-security-policy', PAGE_POLICY);
  // A token in the address must not travel on.
  setDefault(reply, 'referrer-policy', 'no-referrer');
}

function setDefault(reply: FastifyReply, name: string, value: string): void {
  if (!reply.hasHeader(name)) void reply.header(name, value);
}
