import type { FastifyReply, FastifyRequest } from 'fastify';
import type { Clock } from '#kernel';
import type { ProblemError } from './problem-error.js';
import { PROBLEM_TYPES } from './problem-types.js';

export const PROBLEM_MEDIA_TYPE = 'application/problem+json';

/** Writes problems (RFC 9457) as answers. */
export class ProblemWriter {
  constructor(
    private readonly publicUrl: string,
    private readonly clock: Clock,
  ) {}

  /** Sends `problem` as the answer to `request`. */
  send(problem: ProblemError, request: FastifyRequest, reply: FastifyReply): void {
    const { detail, members, headers } = problem.details;
    const { status, title } = PROBLEM_TYPES[problem.slug];
    const body = {
      type: `${this.publicUrl}/problems/${problem.slug}`,
      title,
      status,
      ...(detail === undefined ? {} : { detail }),
      instance: pathOf(request.url),
      timestamp: this.clock.now().toISOString(),
      requestId: request.id,
      ...members,
    };
    // A handler that failed may have announced another body.
    reply.removeHeader('content-length').removeHeader('content-disposition').removeHeader('etag');
    void reply
      .code(status)
      .headers(headers ?? {})
      .header('content-type', PROBLEM_MEDIA_TYPE)
      .header('cache-control', 'no-store');
    // Bytes, since Fastify would add a charset to text, and JSON has none (RFC 8259 §11).
    void reply.send(Buffer.from(JSON.stringify(body)));
  }
}

/** The path of a request target without its query. */
export function pathOf(url: string): string {
  const end = url.search(/[?#]/);
  return end === -1 ? url : url.slice(0, end);
}
