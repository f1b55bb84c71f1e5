import type { Readable } from 'node:stream';
import { Delete, Get, Headers, Param, Post, Query, Req } from '@nestjs/common';
import type { FastifyRequest } from 'fastify';
import type { z } from 'zod';
import type { ProjectScope } from '#kernel';
import { IMAGE_TYPES, MediaService, MOST_MEDIA_BYTES } from '#messaging';
import { ApiController, InScope, Operation, pageQuery, PLACES, ProblemError, toPage } from '#platform/http';
import { deleteMediaQuery, mediaPage, mediaView, uploadMediaQuery } from './media.dto.js';

const mediaListQuery = pageQuery({}, [PLACES.time, PLACES.id]);

/** Images that mails show by their URL. */
@ApiController('media', { tag: 'Media' })
export class MediaController {
  constructor(private readonly media: MediaService) {}

  @Get()
  @Operation({
    operationId: 'listMedia',
    sdk: 'media.all',
    summary: 'List images, newest first',
    scope: 'media:read',
    query: mediaListQuery,
    response: { status: 200, schema: mediaPage },
  })
  async list(
    @InScope() scope: ProjectScope,
    @Query({ schema: mediaListQuery }) query: z.output<typeof mediaListQuery>,
  ) {
    return toPage(query, await this.media.list(scope, query));
  }

  @Post()
  @Operation({
    operationId: 'uploadMedia',
    sdk: 'media.upload',
    summary: 'Upload an image',
    description:
      'The octets of a PNG, JPEG, GIF or WebP image as the body, with their `Content-Type`: at most 5 MB, 40 megapixels and 300 frames. ' +
      'It is turned upright, and what cameras write about a picture is taken off. It counts against the quota of the environment.',
    scope: 'media:write',
    query: uploadMediaQuery,
    streams: Object.values(IMAGE_TYPES),
    response: { status: 201, schema: mediaView, location: ({ id }) => `media/${id}` },
  })
  upload(
    @InScope() scope: ProjectScope,
    @Headers('content-type') type: string | undefined,
    @Query({ schema: uploadMediaQuery }) { filename }: z.output<typeof uploadMediaQuery>,
    @Req() { body, headers }: FastifyRequest,
  ) {
    const contentType = (type ?? '').split(';')[0]!.trim().toLowerCase();
    refuseLarger(Number(headers['content-length'] ?? 0));
    return this.media.admitted(scope, async () => {
      const content = await octetsOf(body as Readable | undefined);
      return this.media.add(scope, { contentType, filename: filename ?? null, content });
    });
  }

  @Get(':id')
  @Operation({
    operationId: 'getMedia',
    sdk: 'media.get',
    summary: 'Get an image: its URL, its size, and what uses it',
    scope: 'media:read',
    response: { status: 200, schema: mediaView },
  })
  get(@InScope() scope: ProjectScope, @Param('id') id: string) {
    return this.media.get(scope, id);
  }

  @Delete(':id')
  @Operation({
    operationId: 'deleteMedia',
    sdk: 'media.delete',
    summary: 'Delete an image',
    description:
      'Refused while content names its URL, and for 365 days after the last mail that shows it, unless `force` is true.',
    scope: 'media:write',
    query: deleteMediaQuery,
    response: { status: 204 },
    problems: [409],
  })
  async remove(
    @InScope() scope: ProjectScope,
    @Param('id') id: string,
    @Query({ schema: deleteMediaQuery }) { force }: z.output<typeof deleteMediaQuery>,
  ) {
    await this.media.remove(scope, id, { force });
  }
}

async function octetsOf(body: Readable | undefined): Promise<Buffer> {
  const parts: Buffer[] = [];
  let size = 0;
  // Keep the connection when an image is refused half-way, so that the client gets the answer.
  for await (const part of body?.iterator({ destroyOnReturn: false }) ?? []) {
    parts.push(part as Buffer);
    size += (part as Buffer).length;
    refuseLarger(size);
  }
  return Buffer.concat(parts, size);
}

function refuseLarger(bytes: number): void {
  if (bytes > MOST_MEDIA_BYTES)
    throw new ProblemError('payload-too-large', { detail: 'An image may have at most 5 MB.' });
}
