import { Readable } from 'node:stream';
import { Get, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { NotFoundError } from '#kernel';
import { DataExportsService } from '#messaging';
import { PageLinksService } from './page-links.service.js';
import { PRIVATE_HEADERS, PublicPage } from './public-page.js';

const FILES = {
  CSV: { type: 'text/csv; charset=utf-8', extension: 'csv' },
  NDJSON: { type: 'application/x-ndjson', extension: 'ndjson' },
} as const;

/** The file of an export, for anybody who has its link, while it is kept. */
@PublicPage('e')
export class ExportFileController {
  constructor(
    private readonly links: PageLinksService,
    private readonly exports: DataExportsService,
  ) {}

  @Get(':token')
  async download(@Param('token') token: string, @Res() reply: FastifyReply): Promise<void> {
    const { scope, id, expired } = await this.links.open(token, 'export');
    if (expired) throw new NotFoundError();
    const { what, format, createdAt, parts } = await this.exports.file(scope, id);
    const { type, extension } = FILES[format];
    const name = `${what.toLowerCase()}-${createdAt.toISOString().slice(0, 10)}.${extension}`;
    void reply
      .headers({ ...PRIVATE_HEADERS, 'content-disposition': `attachment; filename="${name}"` })
      .type(type)
      .send(Readable.from(parts, { objectMode: false }));
  }
}
