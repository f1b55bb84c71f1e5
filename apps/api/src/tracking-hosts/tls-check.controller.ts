import { Controller, Get, Req, Res } from '@nestjs/common';
import { ApiExcludeController } from '@nestjs/swagger';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '#kernel';
import { KnownHosts } from './known-hosts.service.js';

/** What a server with on-demand TLS asks before it gets a certificate for a host (Caddy: `on_demand_tls`, `ask`). */
@Controller('internal')
@ApiExcludeController()
export class TlsCheckController {
  constructor(private readonly hosts: KnownHosts) {}

  @Get('tls-check')
  async check(
    @Req() { query }: FastifyRequest<{ Querystring: { domain?: unknown } }>,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { domain } = query;
    if (typeof domain !== 'string' || !(await this.hosts.isServed(domain))) throw new NotFoundError();
    void reply.header('cache-control', 'no-store').type('text/plain').send('A certificate is wanted.');
  }
}
