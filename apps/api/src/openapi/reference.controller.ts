import { Controller, Get, Header, Headers, Param, Res } from '@nestjs/common';
import type { FastifyReply } from 'fastify';
import { NotFoundError } from '#kernel';
import { isProblemSlug, PROBLEM_TYPES } from '#platform/http';
import { ApiDocument } from './api-document.js';
import { HTML, SCRIPTED_PAGE_POLICY } from './page-shell.js';
import { loadRenderer, problemPage, referencePage, type Renderer } from './reference-pages.js';

/** The API reference and the pages of problems. */
@Controller()
export class ReferenceController {
  #renderer: Promise<Renderer> | undefined;

  constructor(private readonly document: ApiDocument) {}

  @Get('openapi.json')
  @Header('content-type', 'application/json')
  async openApi(): Promise<string> {
    return JSON.stringify(await this.document.get());
  }

  @Get('operator/v1/openapi.json')
  @Header('content-type', 'application/json')
  async operatorOpenApi(): Promise<string> {
    return JSON.stringify(await this.document.ofOperator());
  }

  @Get('docs/reference')
  @Header('content-type', HTML)
  @Header('content-security-policy', SCRIPTED_PAGE_POLICY)
  async reference(): Promise<string> {
    return referencePage((await this.document.get()).info.title, (await this.#load()).name);
  }

  @Get('docs/reference/:script')
  async script(
    @Param('script') script: string,
    @Headers('accept-encoding') encodings: string | undefined,
    @Res() reply: FastifyReply,
  ): Promise<void> {
    const { name, plain, gzipped } = await this.#load();
    if (script !== `${name}.js`) throw new NotFoundError();
    const takesGzip = /\bgzip\b/.test(encodings ?? '');
    if (takesGzip) void reply.header('content-encoding', 'gzip');
    await reply
      .headers({ 'cache-control': 'public, max-age=31536000, immutable', vary: 'accept-encoding' })
      .type('text/javascript; charset=utf-8')
      .send(takesGzip ? gzipped : plain);
  }

  @Get('problems/:slug')
  @Header('content-type', HTML)
  @Header('content-security-policy', SCRIPTED_PAGE_POLICY)
  problem(@Param('slug') slug: string): string {
    if (!isProblemSlug(slug)) throw new NotFoundError();
    return problemPage(slug, PROBLEM_TYPES[slug]);
  }

  #load(): Promise<Renderer> {
    this.#renderer ??= loadRenderer();
    return this.#renderer;
  }
}
