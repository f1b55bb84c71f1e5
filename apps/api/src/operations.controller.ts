import { Controller, Get, Header, Inject, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { Clock, NotFoundError } from '#kernel';
import { type Config, CONFIG, Operations, type OperationsPath } from '#platform';

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

const DAY_MS = 86_400_000;
/** RFC 9116 §2.5.5 recommends less than a year. */
const SECURITY_TXT_DAYS = 180;

/** Contact for reports of vulnerabilities in this installation: security.txt (RFC 9116). */
@Controller()
export class SecurityTxtController {
  constructor(
    @Inject(CONFIG) private readonly config: Pick<Config, 'PUBLIC_URL' | 'SECURITY_CONTACT'>,
    private readonly clock: Clock,
  ) {}

  @Get('.well-known/security.txt')
  @Header('content-type', 'text/plain; charset=utf-8')
  show(): string {
    const { PUBLIC_URL, SECURITY_CONTACT } = this.config;
    if (SECURITY_CONTACT === undefined)
      throw new NotFoundError('The operator of this installation names no contact.');
    const today = Math.floor(this.clock.now().getTime() / DAY_MS);
    return [
      ...SECURITY_CONTACT.map((contact) => `Contact: ${contact}`),
      `Expires: ${new Date((today + SECURITY_TXT_DAYS) * DAY_MS).toISOString()}`,
      'Preferred-Languages: en',
      `Canonical: ${PUBLIC_URL}/.well-known/security.txt`,
      '',
    ].join('\n');
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
