import { Controller, Get, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Operations, type OperationsPath } from '#platform';

/** Health and metrics on the api's own port. */
@Controller()
export class OperationsController {
  constructor(@Inject(Operations) private readonly operations: Operations) {}

  @Get('health/live')
  live(@Res() reply: FastifyReply): Promise<void> {
    return this.#answer('/health/live', reply);
  }

  @Get('health/ready')
  ready(@Res() reply: FastifyReply): Promise<void> {
    return this.#answer('/health/ready', reply);
  }

  @Get('metrics')
  metrics(@Res() reply: FastifyReply): Promise<void> {
    return this.#answer('/metrics', reply);
  }

  async #answer(path: OperationsPath, reply: FastifyReply): Promise<void> {
    const { status, contentType, body } = await this.operations.answer(path);
    void reply
      .code(status)
      .header('cache-control', 'no-store')
      .header('content-type', contentType)
      .send(Buffer.from(body));
  }
}
