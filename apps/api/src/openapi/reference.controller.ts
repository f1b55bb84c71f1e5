import { Controller, Get, Header, Inject, Param } from '@nestjs/common';
import { NotFoundError } from '#kernel';
import { isProblemSlug, PROBLEM_TYPES } from '#platform/http';
import { ApiDocument } from './api-document.js';
import { problemPage } from './problem-page.js';
import { referencePage } from './reference-page.js';

const HTML = 'text/html; charset=utf-8';

/** What a developer reads about the API. */
@Controller()
export class ReferenceController {
  #page: string | undefined;

  constructor(@Inject(ApiDocument) private readonly document: ApiDocument) {}

  @Get('openapi.json')
  @Header('content-type', 'application/json')
  openApi(): string {
    return JSON.stringify(this.document.get());
  }

  @Get('docs/reference')
  @Header('content-type', HTML)
  reference(): string {
    this.#page ??= referencePage(this.document.get());
    return this.#page;
  }

  @Get('problems/:slug')
  @Header('content-type', HTML)
  problem(@Param('slug') slug: string): string {
    if (!isProblemSlug(slug)) throw new NotFoundError();
    return problemPage(slug, PROBLEM_TYPES[slug]);
  }
}
