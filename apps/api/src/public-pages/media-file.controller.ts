import { Readable } from 'node:stream';
import { Get, Param, Query, Req, Res } from '@nestjs/common';
import type { FastifyReply, FastifyRequest } from 'fastify';
import { NotFoundError } from '#kernel';
import { MEDIA_PATH, MediaFilesService, parseMediaFileName, type ServedMedia, widthFor } from '#messaging';
import { PublicPage } from './public-page.js';

const YEAR_SECONDS = 31_536_000;
const MINUTE_SECONDS = 60;

/** Headers by which an image that came from a customer is nothing else, and does nothing. */
const IMAGE_HEADERS = {
  'x-content-type-options': 'nosniff',
  'content-security-policy': "default-src 'none'; sandbox",
  'cross-origin-resource-policy': 'cross-origin',
} as const;

/** Images of mails, by our host or a customer's. */
@PublicPage(MEDIA_PATH)
export class MediaFileController {
  constructor(private readonly files: MediaFilesService) {}

  @Get(':file')
  async show(
    @Param('file') file: string,
    @Query('w') asked: unknown,
    @Req() request: FastifyRequest,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const media = parseMediaFileName(file);
    const width = typeof asked === 'string' ? widthFor(asked) : null;
    if (media === null || (asked !== undefined && width === null)) throw new NotFoundError();
    const served = await this.files.open(media, width);
    if (served === null) throw new NotFoundError();
    const etag = `"${media.name}-${served.file}"`;
    void reply.headers({ ...IMAGE_HEADERS, 'cache-control': cacheControl(served), etag });
    if (isKnown(request.headers['if-none-match'], etag)) return void reply.status(304).send();
    void reply.status(200).type(media.contentType).header('content-length', served.content.bytes);
    // Fastify would say of a HEAD without a body that it is empty.
    const body = request.method === 'HEAD' ? Readable.from([]) : await served.content.stream();
    void reply.send(body);
  }
}

function cacheControl({ isLasting }: ServedMedia): string {
  return isLasting ? `public, max-age=${YEAR_SECONDS}, immutable` : `public, max-age=${MINUTE_SECONDS}`;
}

/** RFC 9110 §13.1.2, with the weak comparison. */
function isKnown(header: string | undefined, etag: string): boolean {
  return (header ?? '').split(',').some((tag) => ['*', etag].includes(tag.trim().replace(/^W\//, '')));
}
