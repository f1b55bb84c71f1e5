import { type ArgumentsHost, Catch, type ExceptionFilter } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import type { StoredAnswer } from './sealed-answer.js';

/** Thrown in the place of the handler's answer by a request that was answered before. */
export class Replay extends Error {
  constructor(readonly answer: StoredAnswer) {
    super('The request was answered before.');
  }
}

/** Sends the answer of the first request again. */
@Catch(Replay)
export class ReplayFilter implements ExceptionFilter<Replay> {
  catch({ answer }: Replay, host: ArgumentsHost): void {
    void host
      .switchToHttp()
      .getResponse<FastifyReply>()
      .code(answer.status)
      .headers({ ...answer.headers, 'idempotency-replayed': 'true' })
      // Bytes, since Fastify would add a charset to text; an empty body must not become one of 204.
      .send(answer.body === '' ? undefined : Buffer.from(answer.body));
  }
}
