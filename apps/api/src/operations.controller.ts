import { Controller, Get, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Operations, type OperationsPath } from '#platform';

/** Health on the api's own port. */
@Controller()
export class HealthController {
  constructor(private readonly operations: Operations) {}

  @Get('health/live')
  live(@Res() reply: FastifyReply): Promise<void> {
    return answer(this.operations, '/health/live', reply);
  }

  @Get('health/ready')
  ready(@Res() reply: FastifyReply): Promise<void> {
    return answer(this.operations, '/health/ready', reply);
  }
}

/** Metrics on the api's own port. */
@Controller()
export class MetricsController {
  constructor(private readonly operations: Operations) {}

  @Get('metrics')
  metrics(@Res() reply: FastifyReply): Promise<void> {
    return answer(this.operations, '/metrics', reply);
  }
}

async function answer(operations: Operations, path: OperationsPath, reply: FastifyReply): Promise<void> {
  const { status, contentType, body } = await operations.answer(path);
  void reply
    .code(status)
    .header('cache-control', 'no-store')
    .header('content-type', contentType)
    .send(Buffer.from(body));
}
